import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { CapabilitySpec, Kernel, Pid } from '../../../src/index.js';
import { agentImage } from '../../../src/integrations/ai-sdk/index.js';
import { add } from '../../support/integrations/agent-fixture.js';
import { MockModel } from '../../support/integrations/mock-model.js';
import { openKernel } from '../../support/kernel.js';
import { runsInSweep, seeded } from '../../support/seeded.js';
import { findInconsistencies } from '../../support/store-consistency.js';

type Generate = MockModel['doGenerate'];
type Answer = Awaited<ReturnType<Generate>>;

const capabilities: CapabilitySpec[] = ['model:**', 'tool:math.add'].map((resource) => ({
  resource,
  rights: ['call'],
  delegable: true,
}));

/** What a provider reports of a turn: nothing, what is no number of tokens, or so many more or fewer than it was allowed. */
type Report = { readonly junk: unknown } | { readonly beyond: number };

const junk = fc.constantFrom(undefined, null, '12', Number.NaN, Number.POSITIVE_INFINITY, -5, 1.5, 7n, {}, []);
const reports: fc.Arbitrary<Report> = fc.oneof(
  fc.record({ junk }),
  fc.record({ beyond: fc.integer({ min: -4_000, max: 0 }) }),
  fc.record({ beyond: fc.integer({ min: 1, max: 4_000 }) }),
);
const trees = fc.record({
  reports: fc.array(reports, { minLength: 3, maxLength: 12 }),
  limit: fc.integer({ min: 100, max: 20_000 }),
  childLimit: fc.option(fc.integer({ min: 50, max: 10_000 }), { nil: undefined }),
  onBudget: fc.constantFrom('refuse' as const, 'cancel' as const),
});

it('budgets of a tree hold whatever its model reports: no turn begins without room, and each is charged once', async () => {
  await fc.assert(
    fc.asyncProperty(trees, async ({ reports: given, limit, childLimit, onBudget }) => {
      const begun: { used: number; limit: number | null }[] = [];
      let turns = 0;
      const model = new MockModel({
        provider: 'mock.chat',
        modelId: 'scripted',
        doGenerate: async (call) => {
          const { used, limit: bound } = (await kernel.processes.budget(root)).tokens;
          begun.push({ used, limit: bound });
          return answerTo(call, given[turns++]);
        },
      });
      const image = agentImage({ name: 'agent', model, contextTokens: 0 });
      const kernel = await openKernel({ tools: [add], images: [image] });
      const root = await kernel.processes.spawn({ capabilities, budget: { tokens: limit } });
      const budget = childLimit === undefined ? {} : { budget: { tokens: childLimit } };
      const children = await Promise.all(
        ['one', 'two'].map((goal) =>
          kernel.processes.spawnChild(root, { image, goal, delegate: capabilities, onBudget, ...budget }),
        ),
      );
      for (const child of children) {
        const { kind, reason = '' } = (await kernel.processes.result(child)).outcome;
        expect(['completed ', 'failed BUDGET_EXCEEDED', 'budget_exhausted ']).toContain(
          kind === 'budget_exhausted' ? `${kind} ` : `${kind} ${reason}`,
        );
      }
      await expectCharged(kernel, root, children);
      for (const { used } of begun) expect(used).toBeLessThan(limit);
      expect(await findInconsistencies(kernel)).toEqual([]);
      await kernel.shutdown();
    }),
    seeded({ numRuns: runsInSweep(60) }),
  );
}, 300_000);

/** What the children have used is what the tree has used; nothing stays reserved; what passed the limit is shown. */
async function expectCharged(kernel: Kernel, root: Pid, children: readonly Pid[]): Promise<void> {
  const tree = (await kernel.processes.budget(root)).tokens;
  let sum = 0;
  let charged = 0;
  for (const child of children) {
    const { used, reserved, overrun, limit } = (await kernel.processes.budget(child)).tokens;
    sum += used;
    expect({ reserved, overrun }).toEqual({ reserved: 0, overrun: limit === null ? 0 : Math.max(0, used - limit) });
    const { items } = await kernel.audit.list({ action: 'turn.commit', target: child, limit: 100 });
    const usages = items.map(({ facts }) => (facts as { usage?: { totalTokens: number } } | undefined)?.usage);
    charged += usages.reduce((total, usage) => total + (usage?.totalTokens ?? 0), 0);
  }
  expect([tree.used, tree.used]).toEqual([sum, charged]);
  expect(tree).toMatchObject({ reserved: 0, overrun: Math.max(0, tree.used - (tree.limit ?? 0)) });
}

/** Turns with a call, up to the last one that a report was given for. */
function answerTo({ maxOutputTokens = 1_000 }: Parameters<Generate>[0], report: Report | undefined): Answer {
  const call = { type: 'tool-call', toolCallId: String(Math.random()), toolName: 'math_add', input: '{"a":1,"b":1}' };
  const output = report === undefined || 'junk' in report ? undefined : Math.max(0, maxOutputTokens + report.beyond);
  const content = report === undefined ? [{ type: 'text', text: 'Done.' }] : [call];
  const reason = report === undefined ? 'stop' : 'tool-calls';
  const usage =
    report !== undefined && 'junk' in report
      ? { inputTokens: { total: report.junk }, outputTokens: { total: report.junk } }
      : { inputTokens: { total: 5 }, outputTokens: { total: output } };
  return { content, finishReason: { unified: reason, raw: undefined }, warnings: [], usage } as unknown as Answer;
}
