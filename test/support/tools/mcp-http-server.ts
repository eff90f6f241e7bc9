import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createMcpHandler, McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { onTestFinished } from 'vitest';
import { z } from 'zod';

type Handle = (request: Request) => Promise<Response>;

export interface HttpServer {
  readonly url: string;
  readonly port: number;
  /** The `authorization` of each request. */
  readonly seen: (string | null)[];
  stop(): Promise<void>;
}

/** Serves on this machine alone, until the test is over. A `token` has to be shown where one is given. */
export async function httpServer(
  handle: Handle,
  { token, port = 0 }: { token?: string; port?: number } = {},
): Promise<HttpServer> {
  const seen: (string | null)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization ?? null);
    const isAllowed = token === undefined || request.headers.authorization === `Bearer ${token}`;
    const answer = isAllowed ? handle : async () => new Response('who are you?', { status: 401 });
    serve(request, response, answer).catch(() => response.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(stop);
  const { port: taken } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${taken}/mcp`, port: taken, seen, stop };
}

async function serve(request: IncomingMessage, response: ServerResponse, handle: Handle): Promise<void> {
  const { method = 'GET', headers, url = '/' } = request;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const body = method === 'GET' || method === 'DELETE' ? null : await buffer(request);
  const given = new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]));
  const init = { method, headers: given, body, signal: gone.signal };
  const answer = await handle(new Request(`http://127.0.0.1${url}`, init));
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.flushHeaders();
  await pipeline(answer.body ?? [], response);
}

/** A server of tools. Those that are in `extra` are there as well. */
function tools(extra: readonly string[]): McpServer {
  const server = new McpServer({ name: 'web', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
  const inputSchema = z.object({ text: z.string() });
  server.registerTool('echo', { inputSchema }, ({ text }) => ({ content: [{ type: 'text', text }] }));
  server.registerTool('wait', {}, () => new Promise(() => undefined));
  for (const name of extra) server.registerTool(name, {}, () => ({ content: [{ type: 'text', text: name }] }));
  return server;
}

/** A server of 2025, with sessions. `forget` ends them all; `add` adds a tool to each and tells so. */
export function sessions(): { handle: Handle; forget(): void; add(name: string): void; size(): number } {
  const open = new Map<string, { transport: WebStandardStreamableHTTPServerTransport; server: McpServer }>();
  const begin = async () => {
    const server = tools([]);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void open.set(id, { transport, server }),
      onsessionclosed: (id) => void open.delete(id),
    });
    await server.connect(transport);
    return transport;
  };
  return {
    handle: async (request) => {
      const id = request.headers.get('mcp-session-id');
      const known = id === null ? undefined : open.get(id);
      if (id !== null && known === undefined) return new Response('no such session', { status: 404 });
      return (known?.transport ?? (await begin())).handleRequest(request);
    },
    forget: () => open.clear(),
    add: (name) => {
      for (const { server } of open.values()) {
        server.registerTool(name, {}, () => ({ content: [{ type: 'text', text: name }] }));
      }
    },
    size: () => open.size,
  };
}

/** A server of 2026 that knows nothing older. */
export function stateless(): { handle: Handle; add(name: string): void } {
  const extra: string[] = [];
  const handler = createMcpHandler(() => tools(extra), { legacy: 'reject' });
  onTestFinished(() => handler.close());
  return {
    handle: (request) => handler.fetch(request),
    add: (name) => {
      extra.push(name);
      handler.notify.toolsChanged();
    },
  };
}
