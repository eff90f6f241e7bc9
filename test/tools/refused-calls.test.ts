import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type CapabilitySpec, defineTool, type JsonValue } from '../../src/index.js';
import { waitForPending } from '../support/capability/pending-approvals.js';
import { openKernel, refusal } from '../support/kernel.js';

const callSend: CapabilitySpec = { resource: 'tool:send', rights: ['call'] };

/** A tool with arguments that are not recorded as they are, which counts how often it is asked for those that are. */
async function fixture(capabilities: CapabilitySpec[]) {
  const asked: unknown[] = [];
  const validated: unknown[] = [];
  const send = defineTool<{ to: string; secret?: string; list?: JsonValue }>({
    name: 'send',
    description: 'Sends.',
    effect: 'once',
    input: z.looseObject({ to: z.string() }).refine((args) => validated.push(args) > 0),
    shown: (args) => {
      asked.push(args);
      return { to: args.to, secret: '***', ...(args.list === undefined ? {} : { list: args.list }) };
    },
    run: () => 'sent',
  });
  const kernel = await openKernel({ tools: [send] });
  const pid = await kernel.processes.spawn({ capabilities });
  const payloads = async () =>
    (await kernel.audit.list({ action: 'tool.call' })).items.flatMap(({ outcome, payload }) =>
      outcome === 'intent' ? [JSON.parse(JSON.stringify(payload ?? null))] : [],
    );
  return {
    kernel,
    pid,
    asked,
    validated,
    payloads,
    call: (args: JsonValue) => kernel.as(pid).tools.call('send', args),
  };
}

type Fixture = Awaited<ReturnType<typeof fixture>>;

const args = { to: 'ann', secret: 'hunter2' };

describe('the arguments as they are recorded', () => {
  const refusals: [string, CapabilitySpec[], string][] = [
    ['without a capability', [], 'NO_CAPABILITY'],
    ['against a constraint', [{ ...callSend, constraints: { to: { eq: 'bob' } } }], 'CONSTRAINT'],
  ];
  it.each(refusals)('are not made for a call %s', async (_, capabilities, code) => {
    const { call, asked, kernel, pid } = await fixture(capabilities);
    for (let n = 0; n < 3; n++) {
      expect(await refusal(call(args))).toMatchObject({ code: 'CAPABILITY_DENIED', facts: { code } });
    }
    expect(asked).toEqual([]);
    await kernel.capabilities.grant(pid, callSend);
    expect(await call(args)).toBe('sent');
    expect(asked).toHaveLength(1);
  });

  it.each([
    ['holds nothing', async () => undefined],
    [
      'holds what was revoked',
      async ({ kernel, pid }: Fixture) => {
        await kernel.capabilities.revoke((await kernel.capabilities.grant(pid, callSend)).id);
      },
    ],
    [
      'holds what has no use left',
      async ({ kernel, pid, call, validated }: Fixture) => {
        await kernel.capabilities.grant(pid, { ...callSend, uses: 1 });
        await call(args);
        validated.length = 0;
      },
    ],
    [
      'is denied the tool',
      async ({ kernel, pid }: Fixture) => {
        await kernel.capabilities.grant(pid, callSend);
        await kernel.capabilities.deny(pid, { resource: 'tool:send', rights: ['call'] });
      },
    ],
  ])('are not looked at where the process %s', async (_, prepare) => {
    const fixed = await fixture([]);
    await prepare(fixed);
    const { call, validated, kernel } = fixed;
    for (const any of [args, { to: 5 }, 'no object']) {
      expect((await refusal(call(any))).code).toMatch(/^CAPABILITY_(DENIED|REVOKED)$/);
    }
    expect(validated).toEqual([]);
    expect((await kernel.audit.list({ action: 'tool.call', outcome: 'refused' })).items.length).toBeGreaterThan(0);
  });

  it('are validated where one call alone is denied', async () => {
    const { call, kernel, pid, validated } = await fixture([callSend]);
    await kernel.capabilities.ask(pid, { resource: 'tool:send', rights: ['call'] });
    const calling = call({ to: 'bob' });
    await kernel.approvals.answer((await waitForPending(kernel)).id, { decision: 'deny-always', by: 'ann' });
    expect((await refusal(calling)).code).toBe('APPROVAL_DENIED');
    validated.length = 0;
    expect(await refusal(call({ to: 'bob' }))).toMatchObject({ facts: { code: 'DENY_RULE' } });
    expect(validated).toHaveLength(1);
  });

  it('are not made where a rule denies it, and are again when the rule is lifted', async () => {
    const { call, asked, kernel, pid, payloads } = await fixture([callSend]);
    const rule = await kernel.capabilities.deny(pid, { resource: 'tool:send', rights: ['call'] });
    expect(await refusal(call(args))).toMatchObject({ facts: { code: 'DENY_RULE' } });
    expect(asked).toEqual([]);
    await kernel.capabilities.lift(rule.id);
    expect(await call(args)).toBe('sent');
    expect(await payloads()).toEqual([{ args: { to: 'ann', secret: '***' } }]);
  });

  it('are what a person is asked about', async () => {
    const { call, kernel, pid, payloads } = await fixture([callSend]);
    await kernel.capabilities.ask(pid, { resource: 'tool:send', rights: ['call'] });
    const calling = call(args);
    const approval = await waitForPending(kernel);
    expect(approval.args).toMatchObject({ to: 'ann', secret: '***' });
    await kernel.approvals.answer(approval.id, { decision: 'once', by: 'ann' });
    expect(await calling).toBe('sent');
    expect(await payloads()).toEqual([{ args: { to: 'ann', secret: '***' } }]);
  });

  it('are left out where they are long, in whatever way', async () => {
    const { call, payloads } = await fixture([callSend]);
    const long: JsonValue[] = [
      'x'.repeat(5_000),
      Array.from({ length: 5_000 }, () => 1),
      { [`k${'k'.repeat(5_000)}`]: 1 },
    ];
    for (const list of long) await call({ ...args, list });
    await call({ ...args, list: ['x'.repeat(3_000)] });
    const recorded = await payloads();
    expect(recorded.map((payload) => payload !== null && 'args' in payload)).toEqual([false, false, false, true]);
  });
});
