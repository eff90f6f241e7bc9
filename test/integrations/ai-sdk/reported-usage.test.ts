import { describe, expect, it } from 'vitest';
import { startAgent } from '../../support/integrations/agent-fixture.js';
import { MockModel } from '../../support/integrations/mock-model.js';

type Answer = Awaited<ReturnType<MockModel['doGenerate']>>;

/** A model that answers `yes`, after failing with the given errors, and reports any usage. */
function reportingModel(usage: unknown, failures: readonly Error[] = [], text = 'yes'): MockModel {
  let call = 0;
  return new MockModel({
    provider: 'mock.chat',
    modelId: 'scripted',
    doGenerate: async () => {
      const failure = failures[call++];
      if (failure !== undefined) throw failure;
      const answer = {
        content: [{ type: 'text', text }],
        finishReason: { unified: 'stop', raw: undefined },
        warnings: [],
      };
      return { ...answer, usage } as unknown as Answer;
    },
  });
}

const report = (input: unknown, output: unknown) => ({
  inputTokens: { total: input },
  outputTokens: { total: output },
});
const failure = (rest: object) => Object.assign(new Error('no luck'), { isRetryable: true, ...rest });

async function tokensUsed(model: MockModel, spec: object = {}): Promise<number> {
  const retry = { attempts: 3, baseMs: 1 };
  const { kernel, pid } = await startAgent({ model, maxOutputTokens: 1_000, retry, ...spec });
  await kernel.processes.result(pid);
  const { used, reserved } = (await kernel.processes.budget(pid)).tokens;
  expect(reserved).toBe(0);
  return used;
}

describe('usage that a provider reports', () => {
  it('is charged as it is where it is a number of tokens', async () => {
    expect(await tokensUsed(reportingModel(report(10, 5)))).toBe(15);
    expect(await tokensUsed(reportingModel(report(0, 0)))).toBe(0);
  });

  const odd: [string, unknown][] = [
    ['NaN', Number.NaN],
    ['infinite', Number.POSITIVE_INFINITY],
    ['negative', -1_000_000],
    ['a fraction', 1.5],
    ['text', '7'],
    ['a bigint', 7n],
    ['null', null],
    ['an object', { total: 7 }],
    ['absent', undefined],
  ];
  it.each(odd)('is estimated in the field that is %s, and in no other', async (_, value) => {
    const outputOdd = await tokensUsed(reportingModel(report(20_000, value)));
    expect(outputOdd).toBe(21_000);
    const inputOdd = await tokensUsed(reportingModel(report(value, 20_000)));
    expect(inputOdd).toBeGreaterThan(20_000);
    expect(inputOdd).toBeLessThan(21_000);
  });

  it.each([undefined, null, 'none', 7, {}, [], { inputTokens: null }])('is estimated when it is %j', async (usage) => {
    expect(await tokensUsed(reportingModel(usage))).toBeGreaterThan(1_000);
  });

  it.each([undefined, null, 'none', {}, { inputTokens: null, outputTokens: null }])(
    'is estimated as elsewhere when a stream ends with %j',
    async (usage) => {
      const model = reportingModel({ inputTokens: { total: 1 }, outputTokens: { total: 1 } });
      const parts = [
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: 'yes' },
        { type: 'text-end', id: '1' },
        { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage },
      ];
      model.doStream = async () => ({ stream: ReadableStream.from(parts) as never });
      expect(await tokensUsed(model)).toBe(await tokensUsed(reportingModel(usage)));
      expect(model.doGenerateCalls).toEqual([]);
    },
  );

  it('is at least what the answer is long where it does not tell', async () => {
    const long = reportingModel(report(1, undefined), [], 'word '.repeat(10_000));
    expect(await tokensUsed(long, { maxOutputTokens: 10 })).toBeGreaterThan(10_000);
  });
});

describe('a failed attempt', () => {
  it('is estimated and charged with the turn that it belongs to', async () => {
    const used = await tokensUsed(reportingModel(report(10, 5), [failure({}), failure({})]));
    expect(used).toBeGreaterThan(2_015);
  });

  it('is charged when the turn fails in the end', async () => {
    const errors = [failure({}), failure({}), failure({})];
    expect(await tokensUsed(reportingModel(report(10, 5), errors))).toBeGreaterThan(3_000);
  });

  it('is charged what its error reports, estimated in each field that is no number', async () => {
    const whole = [failure({ statusCode: 500, usage: { inputTokens: 30, outputTokens: 20 } })];
    expect(await tokensUsed(reportingModel(report(10, 5), whole))).toBe(65);
    const odd = [failure({ statusCode: 500, usage: { inputTokens: 30, outputTokens: Number.NaN } })];
    expect(await tokensUsed(reportingModel(report(10, 5), odd))).toBe(1_045);
  });

  it('costs nothing when the provider answered with an error', async () => {
    const refused = [failure({ statusCode: 429 }), failure({ statusCode: 503 })];
    expect(await tokensUsed(reportingModel(report(10, 5), refused))).toBe(15);
  });
});
