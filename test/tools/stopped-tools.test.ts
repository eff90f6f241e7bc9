import { describe, expect, it } from 'vitest';
import {
  type CapabilitySpec,
  defineImage,
  defineTool,
  type Kernel,
  type Pid,
  type Tool,
  type ToolContext,
} from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { queuedCalls } from '../support/queued-calls.js';

const callAll: CapabilitySpec[] = [{ resource: 'tool:**', rights: ['call'] }];

function tool(name: string, run: (context: ToolContext) => unknown, rest: Partial<Tool> = {}): Tool {
  const start = (_args: never, context: ToolContext) => run(context);
  return {
    ...defineTool({ name, description: `Does ${name}.`, effect: 'once', input: {}, run: () => null }),
    ...rest,
    run: start,
  };
}

/** A tool that ignores its signal: each call runs until it is released. */
function deafTool(): { deaf: Tool; running: Map<Pid, (value: string) => void> } {
  const running = new Map<Pid, (value: string) => void>();
  const deaf = tool('deaf', ({ pid }) => new Promise((resolve) => running.set(pid, resolve)), { concurrency: 1 });
  return { deaf, running };
}

async function outcomes(kernel: Kernel, pid: Pid): Promise<string[]> {
  const { items } = await kernel.audit.list({ action: 'tool.call' });
  return items.filter(({ target }) => target === pid).map(({ outcome }) => outcome);
}

describe('a tool that ignores that its process was stopped', () => {
  const stops: Record<string, (kernel: Kernel, pid: Pid) => Promise<unknown>> = {
    kill: (kernel, pid) => kernel.processes.kill(pid),
    cancel: (kernel, pid) => kernel.processes.cancel(pid),
  };
  for (const [name, stop] of Object.entries(stops)) {
    it(`has its caller told, the outcome unknown, and its place given to others: ${name}`, async () => {
      const { deaf, running } = deafTool();
      const store = await newStore();
      const kernel = await openKernel({ store, tools: [deaf] });
      const [first, second] = await Promise.all([
        kernel.processes.spawn({ capabilities: callAll }),
        kernel.processes.spawn({ capabilities: callAll }),
      ]);
      const told = refusal(kernel.as(first).tools.call('deaf'));
      await eventually(() => expect(running.has(first)).toBe(true));
      const waiting = kernel.as(second).tools.call('deaf');
      await queuedCalls(kernel);
      await stop(kernel, first);
      expect((await told).code).toMatch(/^(CANCELLED|PROCESS_TERMINATED)$/);
      expect(await outcomes(kernel, first)).toEqual(['intent', 'unknown']);
      expect(running.has(second)).toBe(false);
      await eventually(() => expect(running.has(second)).toBe(true));
      running.get(first)?.('too late');
      running.get(second)?.('in time');
      expect(await waiting).toBe('in time');
      expect(await outcomes(kernel, first)).toEqual(['intent', 'unknown']);
      expect(await outcomes(kernel, second)).toEqual(['intent', 'ok']);
      await checkInvariants(kernel, store);
    });
  }

  it('is not waited for by a body, which has its grace to clean up', async () => {
    const { deaf, running } = deafTool();
    const seen: string[] = [];
    const image = defineImage({
      name: 'body',
      run: async (ctx) => {
        try {
          return await ctx.tools.call('deaf');
        } catch (error) {
          seen.push((error as { code: string }).code);
          return 'cleaned up';
        }
      },
    });
    const kernel = await openKernel({ tools: [deaf], images: [image] });
    const pid = await kernel.processes.spawn({ image: 'body', capabilities: callAll });
    await eventually(() => expect(running.has(pid)).toBe(true));
    await kernel.processes.cancel(pid);
    await kernel.processes.result(pid);
    expect(seen).toEqual(['CANCELLED']);
    expect(await outcomes(kernel, pid)).toEqual(['intent', 'unknown']);
  });

  it('keeps its place until it has ended when it ends in the grace, also after its time is over', async () => {
    let underway = 0;
    let most = 0;
    const releases: (() => void)[] = [];
    const slow = tool(
      'slow',
      async () => {
        most = Math.max(most, ++underway);
        await new Promise<void>((resolve) => releases.push(resolve));
        underway--;
        return null;
      },
      { concurrency: 1 },
    );
    const kernel = await openKernel({ tools: [slow] });
    const pid = await kernel.processes.spawn({ capabilities: callAll });
    const { tools } = kernel.as(pid);
    const late = refusal(tools.call('slow', {}, { timeoutMs: 300 }));
    await eventually(() => expect(underway).toBe(1));
    const next = tools.call('slow');
    expect(await late).toMatchObject({ code: 'TOOL_TIMEOUT' });
    await queuedCalls(kernel);
    releases.shift()?.();
    await eventually(() => expect(releases).toHaveLength(1));
    releases.shift()?.();
    await next;
    expect(most).toBe(1);
  });

  it('and one that ends at its signal has its own outcome', async () => {
    const polite = tool(
      'polite',
      ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('stopped'))),
    );
    const kernel = await openKernel({ tools: [polite] });
    const pid = await kernel.processes.spawn({ capabilities: callAll });
    const told = refusal(kernel.as(pid).tools.call('polite'));
    await eventually(async () => expect(await outcomes(kernel, pid)).toEqual(['intent']));
    await kernel.processes.kill(pid);
    expect(await told).toMatchObject({ code: 'PROCESS_TERMINATED' });
    expect(await outcomes(kernel, pid)).toEqual(['intent', 'ok']);
  });
});

describe('the time limit of a call', () => {
  it('counts while it waits for its place, and the tool does not run then', async () => {
    const { deaf, running } = deafTool();
    const kernel = await openKernel({ tools: [deaf] });
    const [holder, waiter] = await Promise.all([
      kernel.processes.spawn({ capabilities: callAll }),
      kernel.processes.spawn({ capabilities: callAll }),
    ]);
    const held = kernel.as(holder).tools.call('deaf');
    await eventually(() => expect(running.has(holder)).toBe(true));
    const call = kernel.as(waiter).tools.call('deaf', {}, { timeoutMs: 50 });
    expect(await refusal(call)).toMatchObject({ code: 'TOOL_TIMEOUT', facts: { timeoutMs: 50 } });
    expect(await outcomes(kernel, waiter)).toEqual([]);
    running.get(holder)?.('done');
    expect(await held).toBe('done');
    expect(running.has(waiter)).toBe(false);
  });

  it('does not count the time that a person takes to answer', async () => {
    const quick = tool('quick', () => 'ran');
    const kernel = await openKernel({ tools: [quick] });
    const pid = await kernel.processes.spawn({ capabilities: callAll });
    await kernel.capabilities.ask(pid, { resource: 'tool:quick', rights: ['call'] });
    const call = kernel.as(pid).tools.call('quick', {}, { timeoutMs: 100 });
    const [approval] = await eventually(async () => {
      const pending = await kernel.approvals.list();
      expect(pending).toHaveLength(1);
      return pending;
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    await kernel.approvals.answer(approval?.id ?? '', { decision: 'once', by: 'ann' });
    expect(await call).toBe('ran');
  });
});

describe('a tool that calls itself', () => {
  const selfCalls: Record<string, (kernel: Kernel, context: ToolContext, other: Pid) => Promise<unknown>> = {
    'by its face': (_kernel, { process }) => process.tools.call('self'),
    'by the kernel': (kernel, { pid }) => kernel.as(pid).tools.call('self'),
    'as another process': (kernel, _context, other) => kernel.as(other).tools.call('self'),
    'through another tool': (_kernel, { process }) => process.tools.call('between'),
    'after a timer': async (_kernel, { process }) => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      return process.tools.call('self');
    },
  };
  for (const [name, callItself] of Object.entries(selfCalls)) {
    it(`with one place is refused, ${name}`, async () => {
      let kernel: Kernel | undefined;
      let other = '';
      const self = tool('self', (context) => kernel && callItself(kernel, context, other), { concurrency: 1 });
      const between = tool('between', ({ process }) => process.tools.call('self'), { concurrency: 3 });
      kernel = await openKernel({ tools: [self, between] });
      const pid = await kernel.processes.spawn({ capabilities: callAll });
      other = await kernel.processes.spawn({ capabilities: callAll });
      expect(await refusal(kernel.as(pid).tools.call('self'))).toMatchObject({
        code: 'WAIT_CYCLE',
        facts: { tool: 'self', concurrency: 1 },
      });
      // The place is free again.
      expect(await refusal(kernel.as(pid).tools.call('self'))).toMatchObject({ code: 'WAIT_CYCLE' });
    });
  }

  it('may do so while there are places, and is refused where they end', async () => {
    let depth = 0;
    const nested = tool('nested', ({ process }) => (++depth < 3 ? process.tools.call('nested') : depth), {
      concurrency: 3,
    });
    const endless = tool('endless', ({ process }) => process.tools.call('endless'), { concurrency: 2 });
    const kernel = await openKernel({ tools: [nested, endless] });
    const pid = await kernel.processes.spawn({ capabilities: callAll });
    expect(await kernel.as(pid).tools.call('nested')).toBe(3);
    expect(await refusal(kernel.as(pid).tools.call('endless'))).toMatchObject({ code: 'WAIT_CYCLE' });
  });

  it('is told from a body that it made runnable, which waits for its place', async () => {
    const order: string[] = [];
    const image = defineImage({
      name: 'child',
      run: async (ctx) => {
        await ctx.tools.call('starter', { n: 2 });
        return null;
      },
    });
    let child: Pid | undefined;
    const starter = defineTool<{ n?: number }>({
      name: 'starter',
      description: 'Starts a child.',
      effect: 'once',
      input: { type: 'object' },
      concurrency: 1,
      run: async ({ n = 1 }, { process }) => {
        order.push(`begin ${n}`);
        if (n === 1) {
          child = await process.spawnChild({
            image: 'child',
            delegate: [{ resource: 'tool:starter', rights: ['call'] }],
          });
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        order.push(`end ${n}`);
        return null;
      },
    });
    const kernel = await openKernel({ tools: [starter], images: [image] });
    const pid = await kernel.processes.spawn({
      capabilities: [{ resource: 'tool:**', rights: ['call', 'grant'] }],
    });
    await kernel.as(pid).tools.call('starter', {});
    expect(await kernel.processes.result(child ?? '')).toMatchObject({ status: 'exited' });
    expect(order).toEqual(['begin 1', 'end 1', 'begin 2', 'end 2']);
  });
});
