import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ApprovalFacts, defineImage, defineTool, type Kernel, type Pid } from '../../src/index.js';
import { pendingApproval } from '../support/approvals.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';

const mayCall = (tool: string) => [{ resource: `tool:${tool}`, rights: ['call' as const] }];

/** A tool that keeps what it was called with. */
function mail(options: {
  needsApproval?: true | ((args: Mail, facts: ApprovalFacts) => boolean);
  expiresInMs?: number;
}) {
  const sent: Mail[] = [];
  const tool = defineTool({
    name: 'mail',
    description: 'Sends a mail.',
    effect: 'once',
    input: z.object({ to: z.string(), text: z.string().default('hello') }),
    ...options,
    run: (args) => {
      sent.push(args);
      return { sent: args.to };
    },
  });
  return { tool, sent };
}
type Mail = { to: string; text: string };

async function open(tool: ReturnType<typeof mail>['tool']): Promise<{ kernel: Kernel; pid: Pid }> {
  const kernel = await openKernel({ tools: [tool] });
  return { kernel, pid: await kernel.processes.spawn({ capabilities: mayCall('mail') }) };
}

describe('a tool that needs an approval', () => {
  it('waits for the answer of a person, who sees its arguments and that the tool asks', async () => {
    const { tool, sent } = mail({ needsApproval: true });
    const { kernel, pid } = await open(tool);
    const calling = kernel.as(pid).tools.call('mail', { to: 'ann' });
    const approval = await pendingApproval(kernel, pid);
    expect(approval).toMatchObject({
      right: 'call',
      resource: 'tool:mail',
      args: { to: 'ann', text: 'hello' },
      rules: ['tool:mail'],
      editable: true,
    });
    expect(sent).toEqual([]);
    await kernel.approvals.answer(approval.id, { decision: 'once', by: 'ann' });
    expect(await calling).toEqual({ sent: 'ann' });
    const denied = refusal(kernel.as(pid).tools.call('mail', { to: 'bob' }));
    await kernel.approvals.answer((await pendingApproval(kernel, pid)).id, { decision: 'deny', by: 'ann' });
    expect(await denied).toMatchObject({ code: 'APPROVAL_DENIED' });
    expect(sent).toHaveLength(1);
  });

  it('asks when its function says so, which is told the arguments and where the call comes from', async () => {
    const told: ApprovalFacts[] = [];
    const { tool, sent } = mail({
      needsApproval: ({ to }, facts) => {
        told.push(facts);
        return to.endsWith('@example.com');
      },
    });
    const { kernel, pid } = await open(tool);
    await kernel.as(pid).tools.call('mail', { to: 'ann@home' });
    expect(sent).toHaveLength(1);
    expect(told[0]).toMatchObject({ pid, cwd: '.', image: 'base@1', effect: 'once' });
    const calling = kernel.as(pid).tools.call('mail', { to: 'ann@example.com' });
    await kernel.approvals.answer((await pendingApproval(kernel, pid)).id, { decision: 'always', by: 'ann' });
    await calling;
    await kernel.as(pid).tools.call('mail', { to: 'ann@example.com' });
    expect(sent).toHaveLength(3);
  });

  it('asks nobody for a process without the capability, and fails where its function does', async () => {
    const { tool, sent } = mail({ needsApproval: true });
    const { kernel } = await open(tool);
    const stranger = await kernel.processes.spawn({});
    expect(await refusal(kernel.as(stranger).tools.call('mail', { to: 'ann' }))).toMatchObject({
      code: 'CAPABILITY_DENIED',
    });
    expect(await kernel.approvals.list()).toEqual([]);
    const broken = mail({ needsApproval: () => 'yes' as never });
    const other = await open(broken.tool);
    expect(await refusal(other.kernel.as(other.pid).tools.call('mail', { to: 'ann' }))).toMatchObject({
      code: 'TOOL_FAILED',
    });
    expect([sent, broken.sent]).toEqual([[], []]);
    expect(() =>
      kernel.tools.register(defineTool({ ...mail({}).tool, name: 'late', expiresInMs: 5 } as never)),
    ).toThrow(/needsApproval/);
  });
});

describe('a question with a time limit', () => {
  it('is denied when nobody has answered, and is asked again by the same call later', async () => {
    const { tool, sent } = mail({ needsApproval: true, expiresInMs: 100 });
    const { kernel, pid } = await open(tool);
    const late = await refusal(kernel.as(pid).tools.call('mail', { to: 'ann' }));
    expect(late).toMatchObject({ code: 'APPROVAL_DENIED', facts: { resource: 'tool:mail' } });
    const [first] = await kernel.approvals.list({ status: 'any' });
    expect(first).toMatchObject({ status: 'answered', decision: 'deny', by: 'kernel' });
    expect(first?.expiresAt).toBe((first?.createdAt ?? 0) + 100);
    const { items } = await kernel.audit.list({ action: 'approval.answer' });
    expect(items).toMatchObject([{ actor: 'kernel', decision: 'deny', code: 'EXPIRED', target: pid }]);
    const again = refusal(kernel.as(pid).tools.call('mail', { to: 'ann' }));
    const second = await pendingApproval(kernel, pid);
    expect(second.id).not.toBe(first?.id);
    expect(await again).toMatchObject({ code: 'APPROVAL_DENIED' });
    expect(await refusal(kernel.approvals.answer(second.id, { decision: 'once', by: 'ann' }))).toMatchObject({
      code: 'CONFLICT',
    });
    expect(sent).toEqual([]);
  });

  it('comes from a rule too, and the shortest of several counts; a rule that denies has none', async () => {
    const { tool } = mail({});
    const { kernel, pid } = await open(tool);
    const rule = { resource: 'tool:mail', rights: ['call' as const] };
    expect(await kernel.capabilities.ask(pid, { ...rule, expiresInMs: 50 })).toMatchObject({ expiresInMs: 50 });
    await kernel.capabilities.ask(pid, { ...rule, expiresInMs: 3_600_000 });
    const late = refusal(kernel.as(pid).tools.call('mail', { to: 'ann' }));
    const { createdAt, expiresAt } = await pendingApproval(kernel, pid);
    expect(expiresAt).toBe(createdAt + 50);
    expect(await late).toMatchObject({ code: 'APPROVAL_DENIED' });
    expect(await refusal(kernel.capabilities.deny(pid, { ...rule, expiresInMs: 50 }))).toMatchObject({
      code: 'INVALID_INPUT',
    });
  });

  it('is denied by the next run where it ran out while no program waited for it', async () => {
    const { tool, sent } = mail({ needsApproval: true, expiresInMs: 200 });
    const caller = defineImage({
      name: 'caller',
      run: async (ctx) => ctx.tools.call('mail', { to: 'ann' }).catch((error: { code: string }) => error.code),
    });
    const store = await newStore();
    const first = await openKernel({ store, tools: [tool], images: [caller] });
    const pid = await first.processes.spawn({ image: 'caller', capabilities: mayCall('mail') });
    const { id } = await pendingApproval(first, pid);
    await first.shutdown();
    const second = await openKernel({ store, tools: [tool], images: [caller] });
    expect((await second.processes.result(pid)).value).toBe('APPROVAL_DENIED');
    expect(await second.approvals.get(id)).toMatchObject({ decision: 'deny', by: 'kernel' });
    expect(sent).toEqual([]);
  });
});
