import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type CapabilitySpec,
  defineImage,
  defineTool,
  type Kernel,
  type Pid,
  type SpawnSpec,
} from '../../../src/index.js';
import { governedModel, toolsFor } from '../../../src/integrations/ai-sdk/index.js';
import { governTools } from '../../../src/integrations/mastra/index.js';
import { eventually } from '../../support/eventually.js';
import { type ScriptedTurn, scriptedModel, toolResultsIn } from '../../support/integrations/scripted-model.js';
import { openKernel } from '../../support/kernel.js';

const callTools: CapabilitySpec = { resource: 'tool:**', rights: ['call'] };
const add = defineTool({
  name: 'math.add',
  description: 'Adds.',
  effect: 'pure',
  input: z.strictObject({ a: z.number(), b: z.number() }),
  run: ({ a, b }: { a: number; b: number }) => a + b,
});

async function startAgent(spec: SpawnSpec = {}) {
  const sent: string[] = [];
  const mail = createTool({
    id: 'mail',
    description: 'Sends a mail.',
    inputSchema: z.object({ to: z.string() }),
    outputSchema: z.object({ sent: z.number() }),
    execute: async ({ to }) => {
      sent.push(to);
      return { sent: sent.length };
    },
  });
  const kernel = await openKernel({ tools: [add] });
  const toolsOf = governTools(kernel, { mail }, { prefix: 'post' });
  const pid = await kernel.processes.spawn({ capabilities: [callTools], ...spec });
  return { kernel, pid, sent, run: (script: ScriptedTurn[]) => runAgent(kernel, pid, toolsOf, script) };
}

async function runAgent(
  kernel: Kernel,
  pid: Pid,
  toolsOf: (face: ReturnType<Kernel['as']>) => object,
  script: readonly ScriptedTurn[],
) {
  const results: unknown[][] = [];
  const model = scriptedModel((asked, turn) => {
    results.push(toolResultsIn(asked));
    return script[turn - 1] ?? 'no turn is left';
  });
  const face = kernel.as(pid);
  const tools = { ...toolsOf(face), ...(await toolsFor(face, { only: ['math.add'] })) };
  const agent = new Agent({ id: 'a', name: 'a', instructions: 'Work.', model: model as never, tools: tools as never });
  const { text } = await agent.generate('go', { maxSteps: 6 });
  return { text, results: results.slice(1).flat() };
}

const toBob: ScriptedTurn = { calls: [['mail', { to: 'bob' }]] };

describe('an agent of Mastra', () => {
  it('calls its own tools and those of the kernel through the kernel', async () => {
    const { kernel, pid, sent, run } = await startAgent();
    const { text, results } = await run([toBob, { calls: [['math_add', { a: 1, b: 2 }]] }, 'done']);
    expect(text).toBe('done');
    expect(results).toEqual([{ sent: 1 }, 3]);
    expect(sent).toEqual(['bob']);
    const records = (await kernel.audit.list({ action: 'tool.call' })).items;
    expect(records.map(({ actor, outcome, resource }) => [actor, outcome, resource])).toEqual([
      [pid, 'intent', 'tool:post.mail'],
      [pid, 'ok', 'tool:post.mail'],
      [pid, 'intent', 'tool:math.add'],
      [pid, 'ok', 'tool:math.add'],
    ]);
  });

  it('reads why it is refused: authority, constraint and budget', async () => {
    const none = await startAgent({ capabilities: [] });
    expect((await none.run([toBob, 'done'])).results).toMatchObject([{ error: { code: 'CAPABILITY_DENIED' } }]);
    expect(none.sent).toEqual([]);
    const onlyBob: CapabilitySpec = {
      resource: 'tool:post.mail',
      rights: ['call'],
      constraints: { to: { in: ['bob'] } },
    };
    const some = await startAgent({ capabilities: [onlyBob], budget: { toolCalls: 1 } });
    const { results } = await some.run([{ calls: [['mail', { to: 'eve' }]] }, toBob, toBob, 'done']);
    expect(results).toMatchObject([
      { error: { code: 'CAPABILITY_DENIED' } },
      { sent: 1 },
      { error: { code: 'BUDGET_EXCEEDED' } },
    ]);
    expect(some.sent).toEqual(['bob']);
  });

  it('waits for a person where a rule asks', async () => {
    const { kernel, pid, sent, run } = await startAgent();
    await kernel.capabilities.ask(pid, { resource: 'tool:post.mail', rights: ['call'] });
    const running = run([toBob, 'done']);
    await eventually(async () => expect(await kernel.approvals.list({ status: 'pending' })).toHaveLength(1));
    expect(sent).toEqual([]);
    const [approval] = await kernel.approvals.list({ status: 'pending' });
    await kernel.approvals.answer(approval?.id ?? '', { decision: 'once', by: 'ann' });
    expect((await running).results).toEqual([{ sent: 1 }]);
  });

  it('is cancelled in the middle of a tool, which is told, and asks its model no more', async () => {
    const signals: AbortSignal[] = [];
    const slow = createTool({
      id: 'slow',
      description: 'Takes long.',
      inputSchema: z.object({}),
      execute: (_args, { abortSignal }) => {
        if (abortSignal !== undefined) signals.push(abortSignal);
        return new Promise<never>(() => undefined);
      },
    });
    const model = scriptedModel((_asked, turn) => (turn === 1 ? { calls: [['slow', {}]] } : 'never'));
    const kernel = await openKernel({ node: { start: false } });
    const toolsOf = governTools(kernel, { slow }, { prefix: 'own' });
    const image = defineImage({
      name: 'worker',
      run: async (ctx) => {
        const governed = governedModel(ctx, model) as never;
        const agent = new Agent({ id: 'a', name: 'a', instructions: 'Work.', model: governed, tools: toolsOf(ctx) });
        const { text } = await agent.generate('go', { maxSteps: 6, abortSignal: ctx.signal });
        // Mastra ends a run that is aborted without an error.
        ctx.signal.throwIfAborted();
        return text;
      },
    });
    await kernel.start();
    const capabilities: CapabilitySpec[] = [callTools, { resource: 'model:**', rights: ['call'] }];
    const pid = await kernel.processes.spawn({ image, capabilities });
    await eventually(() => expect(signals).toHaveLength(1));
    await kernel.processes.cancel(pid);
    expect((await kernel.processes.result(pid)).outcome).toMatchObject({ kind: 'cancelled' });
    expect(signals[0]?.aborted).toBe(true);
    expect(model.doGenerateCalls).toHaveLength(1);
  });

  it('does nothing more when its process is stopped', async () => {
    const { kernel, pid, sent, run } = await startAgent();
    await kernel.processes.kill(pid);
    await run([toBob, 'done']).catch(() => undefined);
    expect(sent).toEqual([]);
  });
});
