import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createKernel, defineImage, type KernelOptions, type McpTarget } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { newStore, openKernel, refusal, tempFolder } from '../../support/kernel.js';
import { manualClock } from '../../support/kernel-fixture.js';
import { testProgram, type Warning } from '../../support/tools/mcp-servers.js';

interface Told {
  readonly told: Warning[];
  readonly logger: NonNullable<KernelOptions['logger']>;
}

function collectWarnings(): Told {
  const told: Warning[] = [];
  const report = (facts: object, message: string) => void told.push({ message, facts: { ...facts } });
  return { told, logger: { warn: report, error: report } };
}

/** A server with the tool `greet`, which says nothing before there is a file, or ends while there is none. */
function lateServer(kind: 'waitFor' | 'needs'): { target: McpTarget; open(): void } {
  const folder = tempFolder();
  const gate = join(folder, 'gate');
  const file = join(folder, 'late.json');
  const pages = [[{ name: 'greet', inputSchema: { type: 'object' } }]];
  writeFileSync(file, JSON.stringify({ pages, [kind]: gate }));
  return { target: testProgram('listing.mjs', file), open: () => writeFileSync(gate, '') };
}

/** Calls the tool of the server, and says no image that it needs it. */
const caller = defineImage({
  name: 'caller',
  run: async (ctx) => ((await ctx.tools.call('mcp/late/greet', {})) as { text: string }).text,
});
const needy = defineImage({ name: 'needy', tools: ['mcp/late/**'], run: async (ctx) => ctx.step('ran', () => 'ran') });
const free = defineImage({ name: 'free', run: async (ctx) => ctx.step('ran', () => 'ran') });
const images = [caller, needy, free];
const capabilities = [{ resource: 'tool:mcp/**', rights: ['call' as const] }];

describe('a kernel with MCP servers', () => {
  it('runs nothing before they are connected', async () => {
    const store = await newStore();
    const before = await openKernel({ store, images, node: { executor: false } });
    const pid = await before.processes.spawn({ image: 'caller', capabilities });
    const server = lateServer('waitFor');
    let isOpen = false;
    const opening = openKernel({ store, images, mcp: { late: server.target }, mcpWaitMs: 600_000 });
    void opening.then(() => (isOpen = true));
    // The program of the server runs, and has not said anything.
    await eventually(async () => {
      const { items } = await before.processes.list({ name: 'mcp:late', status: 'running' });
      expect(items).toHaveLength(1);
    });
    expect(await before.processes.get(pid)).toMatchObject({ status: 'runnable' });
    expect(isOpen).toBe(false);
    server.open();
    const kernel = await opening;
    expect(kernel.tools.list().map(({ name }) => name)).toContain('mcp/late/greet');
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: 'called greet' });
    const types = (await kernel.events.list({ limit: 1_000 })).items
      .filter(({ type, pid: of }) => type === 'tools.changed' || (type === 'process.started' && of === pid))
      .map(({ type }) => type);
    expect(types).toEqual(['tools.changed', 'process.started']);
  });

  it('goes on without those that are missing after `mcpWaitMs`, says so, and uses them when they come', async () => {
    const server = lateServer('waitFor');
    const { told, logger } = collectWarnings();
    const kernel = await openKernel({ images, logger, mcp: { late: server.target }, mcpWaitMs: 1 });
    expect(told).toEqual([
      {
        message: 'MCP server late is not connected yet: processes that need its tools wait for it',
        facts: { server: 'late', waitedMs: 1 },
      },
    ]);
    const waiting = await kernel.processes.spawn({ image: 'needy' });
    const other = await kernel.processes.spawn({ image: 'free' });
    expect((await kernel.processes.result(other)).status).toBe('exited');
    expect(await kernel.processes.get(waiting)).toMatchObject({
      status: 'runnable',
      wait: { kind: 'tools', what: 'needy@1', missing: ['mcp/late/**'] },
    });
    server.open();
    expect((await kernel.processes.result(waiting)).status).toBe('exited');
    await eventually(() => expect(told.map(({ message }) => message)).toContain('MCP server late is connected now'));
  });

  it('tries a server that has failed again, and records the first failure only', async () => {
    const server = lateServer('needs');
    const { told, logger } = collectWarnings();
    const kernel = await openKernel({ images, logger, mcp: { late: server.target }, mcpWaitMs: 0 });
    const waiting = await kernel.processes.spawn({ image: 'needy' });
    const failures = () => told.filter(({ message }) => message.includes('could not be connected; it is tried on'));
    await eventually(async () => {
      expect(failures()).toHaveLength(1);
      expect((await kernel.processes.list({ name: 'mcp:late' })).items.length).toBeGreaterThan(1);
    });
    server.open();
    expect((await kernel.processes.result(waiting)).status).toBe('exited');
    const records = (await kernel.audit.list({ action: 'mcp.connect' })).items;
    expect(records.map(({ outcome }) => outcome)).toEqual(['failed', 'ok']);
    expect(failures()).toHaveLength(1);
  });

  it('takes the tools of a server away that ends again and again, and tries it on', async () => {
    const { told, logger } = collectWarnings();
    const tools = ['mcp/s/**'];
    const image = defineImage({ name: 'needs-s', tools, run: async (ctx) => ctx.step('ran', () => 'ran') });
    // No restart is too long ago to count, however long they take.
    const clock = manualClock();
    const kernel = await openKernel({ images: [image], logger, clock, mcp: { s: testProgram('changing.mjs') } });
    const pid = await kernel.processes.spawn({ capabilities });
    for (let restart = 0; restart <= 5; restart++) {
      expect(await refusal(kernel.as(pid).tools.call('mcp/s/crash'))).toMatchObject({ code: 'TOOL_FAILED' });
    }
    await eventually(() => expect(kernel.tools.list().filter(({ name }) => name.startsWith('mcp/'))).toEqual([]));
    const waiting = await kernel.processes.spawn({ image: 'needs-s' });
    expect((await kernel.processes.result(waiting)).status).toBe('exited');
    const aboutServers = told.filter(({ message }) => message.startsWith('MCP server'));
    expect(aboutServers.map(({ message }) => message).slice(-2)).toEqual([
      'MCP server s is down: it was restarted too often',
      'MCP server s is connected now',
    ]);
    const closed = (await kernel.audit.list({ action: 'mcp.close' })).items;
    expect(closed).toMatchObject([{ target: 'mcp:s', facts: { reason: 'down' } }]);
  });

  it('can be shut down while a server is missing, and leaves no program of it', async () => {
    const [silent, failing] = [lateServer('waitFor'), lateServer('needs')];
    const store = await newStore();
    const mcp = { silent: silent.target, failing: failing.target };
    const kernel = await openKernel({ store, images, mcp, mcpWaitMs: 0, logger: collectWarnings().logger });
    await eventually(async () =>
      expect((await kernel.processes.list({ name: 'mcp:silent', status: 'running' })).items).toHaveLength(1),
    );
    await kernel.shutdown();
    const after = await openKernel({ store });
    expect((await after.processes.list({ live: true })).items).toEqual([]);
  });

  it('waits for them also if it starts later or runs no processes', async () => {
    for (const node of [{ start: false }, { executor: false }]) {
      const server = lateServer('waitFor');
      server.open();
      const kernel = await openKernel({ images, node, mcp: { late: server.target } });
      expect(kernel.tools.list().map(({ name }) => name)).toContain('mcp/late/greet');
    }
  });

  it('says in its row which tools came with a server, and which went with it', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, images });
    const server = lateServer('waitFor');
    server.open();
    const pid = await kernel.processes.spawn({ image: 'needy' });
    const looker = await openKernel({ store, node: { executor: false } });
    expect((await looker.processes.get(pid)).wait).toMatchObject({ kind: 'tools' });
    const connection = await kernel.tools.connectMcp('late', server.target);
    expect((await looker.processes.result(pid)).status).toBe('exited');
    await connection.close();
    const next = await kernel.processes.spawn({ image: 'needy' });
    await eventually(async () => expect((await looker.processes.get(next)).wait).toMatchObject({ kind: 'tools' }));
  });

  it('refuses what is no server before it opens anything', async () => {
    const store = await newStore();
    const wrong = (options: object) => refusal(createKernel({ store, ...options }));
    const target = { command: 'true' };
    expect(await wrong({ mcp: { 'a b': target } })).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'options.mcp' },
    });
    expect(await wrong({ mcp: { a: {} } })).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'options.mcp.a.command' },
    });
    expect(await wrong({ mcp: [1] })).toMatchObject({ code: 'INVALID_INPUT' });
    expect(await wrong({ mcp: 'a' })).toMatchObject({ code: 'INVALID_INPUT' });
    expect(await wrong({ mcp: { a: target }, mcpWaitMs: -1 })).toMatchObject({ code: 'INVALID_INPUT' });
    expect(await wrong({ mcp: { a: target }, readOnly: true })).toMatchObject({ code: 'INVALID_INPUT' });
  });
});
