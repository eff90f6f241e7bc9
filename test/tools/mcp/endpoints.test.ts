import { describe, expect, it, vi } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { newStore, refusal } from '../../support/kernel.js';
import { isKept } from '../../support/storage/store-contents.js';
import { httpServer, sessionServer, statelessServer } from '../../support/tools/mcp-http-server.js';
import { failureOf, mcpFixture } from '../../support/tools/mcp-servers.js';

const kinds = [
  ['2025', sessionServer],
  ['2026', statelessServer],
] as const;

describe.each(kinds)('a server of %s at an address', (_, made) => {
  it('has its tools called, and those that are not granted are refused', async () => {
    const { kernel, call } = await mcpFixture();
    const { url } = await httpServer(made().handle);
    const { tools } = await kernel.tools.connectMcp('web', { url });
    expect(tools.map(({ name }) => name)).toEqual(['mcp/web/echo', 'mcp/web/wait']);
    expect(await call('mcp/web/echo', { text: 'hi' })).toEqual({ text: 'hi' });
    const stranger = await kernel.processes.spawn({});
    expect(await refusal(kernel.as(stranger).tools.call('mcp/web/echo', { text: 'hi' }))).toMatchObject({
      code: 'CAPABILITY_DENIED',
    });
  });

  it('tells when it has another tool', async () => {
    const { kernel, call } = await mcpFixture();
    const { handle, add } = made();
    const { url } = await httpServer(handle);
    const connection = await kernel.tools.connectMcp('web', { url });
    await eventually(async () => {
      // The stream on which a change is told may open after the handshake.
      if (connection.tools.length === 2) add(`more${Math.floor(performance.now())}`);
      await vi.waitFor(() => expect(connection.tools.length).toBeGreaterThan(2), 1_000);
    });
    const name = connection.tools.at(-1)?.name ?? '';
    expect(await call(name)).toEqual({ text: name.slice('mcp/web/'.length) });
  });

  it('is given up when the call takes too long, and goes on with the next', async () => {
    const { kernel, call } = await mcpFixture();
    const { url } = await httpServer(made().handle);
    await kernel.tools.connectMcp('web', { url });
    expect(await failureOf(call('mcp/web/wait', {}, 200))).toMatchObject({ code: 'TOOL_TIMEOUT', retryable: true });
    expect(await call('mcp/web/echo', { text: 'still' })).toEqual({ text: 'still' });
  });

  it('is shown the headers, which are kept nowhere, and without them it says that it wants some', async () => {
    const store = await newStore();
    const { kernel, call } = await mcpFixture({ store });
    const token = 'f00dfacec0ffee';
    const { url, authorizations } = await httpServer(made().handle, { token });
    const headers = { authorization: `Bearer ${token}` };
    await kernel.tools.connectMcp('web', { url, headers });
    await call('mcp/web/echo', { text: 'hi' });
    expect(new Set(authorizations)).toEqual(new Set([`Bearer ${token}`]));
    expect(await failureOf(kernel.tools.connectMcp('other', { url }))).toMatchObject({
      code: 'TOOL_FAILED',
      facts: { server: 'other', reason: 'unauthorized', status: 401 },
      retryable: false,
    });
    await kernel.shutdown();
    expect(await isKept(store, token)).toBe(false);
  });

  it('that was away is found again by the next call', async () => {
    const { kernel, call } = await mcpFixture();
    const first = await httpServer(made().handle);
    const { url, port } = first;
    await kernel.tools.connectMcp('web', { url });
    await first.stop();
    expect(await failureOf(call('mcp/web/echo', { text: 'a' }))).toMatchObject({
      code: 'TOOL_FAILED',
      retryable: true,
    });
    expect(await failureOf(call('mcp/web/echo', { text: 'b' }))).toMatchObject({
      code: 'TOOL_FAILED',
      retryable: true,
    });
    await httpServer(made().handle, { port });
    expect(await call('mcp/web/echo', { text: 'c' })).toEqual({ text: 'c' });
  });
});

describe('a server at an address', () => {
  it('that has forgotten the session gets a new one with the next call', async () => {
    const { kernel, call } = await mcpFixture();
    const { handle, forget, size } = sessionServer();
    const { url } = await httpServer(handle);
    const connection = await kernel.tools.connectMcp('web', { url });
    expect(size()).toBe(1);
    forget();
    expect(await failureOf(call('mcp/web/echo', { text: 'a' }))).toMatchObject({
      code: 'TOOL_FAILED',
      facts: { reason: 'connection_lost', status: 404 },
      retryable: true,
    });
    expect(await call('mcp/web/echo', { text: 'b' })).toEqual({ text: 'b' });
    expect(size()).toBe(1);
    await connection.close();
    expect(size()).toBe(0);
    expect(await refusal(call('mcp/web/echo', { text: 'c' }))).toMatchObject({ code: 'NO_SUCH_TOOL' });
  });

  it('that is none is refused, and its name can be used again', async () => {
    const { kernel } = await mcpFixture();
    const page = await httpServer(async () => new Response('<html>', { headers: { 'content-type': 'text/html' } }));
    const endless = await httpServer(
      async () => new Response(flood(), { headers: { 'content-type': 'application/json' } }),
    );
    const broken = await httpServer(async () => new Response('oh', { status: 500 }));
    const silent = await httpServer(() => new Promise<Response>(() => undefined));
    const gone = await httpServer(async () => new Response());
    await gone.stop();
    for (const { url } of [page, endless, broken, silent, gone]) {
      const connecting = kernel.tools.connectMcp('web', { url, connectTimeoutMs: 1_000 });
      expect(await failureOf(connecting)).toMatchObject({ code: 'TOOL_FAILED', facts: { server: 'web' } });
    }
    expect(kernel.tools.list().filter(({ name }) => name.startsWith('mcp/'))).toEqual([]);
    const { url } = await httpServer(sessionServer().handle);
    expect((await kernel.tools.connectMcp('web', { url })).tools).toHaveLength(2);
  });
});

/** An answer without an end. */
function flood(): ReadableStream<Uint8Array> {
  const chunk = Buffer.alloc(1024 * 1024, ' ');
  return new ReadableStream({ pull: (controller) => controller.enqueue(chunk) });
}
