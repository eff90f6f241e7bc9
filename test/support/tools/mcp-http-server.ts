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
  readonly authorizations: (string | null)[];
  stop(): Promise<void>;
}

/** Serves on the loopback address until the end of the test. With a `token`, requests need it. */
export async function httpServer(
  handle: Handle,
  { token, port = 0 }: { token?: string; port?: number } = {},
): Promise<HttpServer> {
  const authorizations: (string | null)[] = [];
  const server = createServer((request, response) => {
    authorizations.push(request.headers.authorization ?? null);
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
  const { port: actualPort } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${actualPort}/mcp`, port: actualPort, authorizations, stop };
}

async function serve(request: IncomingMessage, response: ServerResponse, handle: Handle): Promise<void> {
  const { method = 'GET', headers, url = '/' } = request;
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  const body = method === 'GET' || method === 'DELETE' ? null : await buffer(request);
  const requestHeaders = new Headers(
    Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]),
  );
  const init = { method, headers: requestHeaders, body, signal: closed.signal };
  const answer = await handle(new Request(`http://127.0.0.1${url}`, init));
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.flushHeaders();
  await pipeline(answer.body ?? [], response);
}

/** An MCP server with the tools echo and wait, and one for each name of `extra`. */
function createToolServer(extra: readonly string[]): McpServer {
  const server = new McpServer({ name: 'web', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
  const inputSchema = z.object({ text: z.string() });
  server.registerTool('echo', { inputSchema }, ({ text }) => ({ content: [{ type: 'text', text }] }));
  server.registerTool('wait', {}, () => new Promise(() => undefined));
  for (const name of extra) server.registerTool(name, {}, () => ({ content: [{ type: 'text', text: name }] }));
  return server;
}

/** A server of the protocol of 2025, with sessions. `forget` ends all sessions; `add` adds a tool and notifies the clients. */
export function sessionServer(): { handle: Handle; forget(): void; add(name: string): void; size(): number } {
  const open = new Map<string, { transport: WebStandardStreamableHTTPServerTransport; server: McpServer }>();
  const startSession = async () => {
    const server = createToolServer([]);
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
      return (known?.transport ?? (await startSession())).handleRequest(request);
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

/** A server of the protocol of 2026 that refuses older versions. */
export function statelessServer(): { handle: Handle; add(name: string): void } {
  const extra: string[] = [];
  const handler = createMcpHandler(() => createToolServer(extra), { legacy: 'reject' });
  onTestFinished(() => handler.close());
  return {
    handle: (request) => handler.fetch(request),
    add: (name) => {
      extra.push(name);
      handler.notify.toolsChanged();
    },
  };
}
