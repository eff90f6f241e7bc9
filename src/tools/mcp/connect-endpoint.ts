import { Deferred } from '../../base/deferred.js';
import { boundedFetch } from './bounded-fetch.js';
import { type ClientOptions, createClient, initialize } from './mcp-client.js';
import { notConnected } from './mcp-errors.js';
import { McpSession } from './mcp-session.js';
import type { ParsedEndpoint } from './mcp-target.js';

/** The time to wait for a server to end its session. */
const terminateTimeoutMs = 1_000;

/** Connects a server over streamable HTTP. The SDK resumes a broken stream itself. Throws TOOL_FAILED. */
export async function connectEndpoint(options: ClientOptions, { url, headers }: ParsedEndpoint): Promise<McpSession> {
  const { sdk, server, signal } = options;
  const client = createClient(options, 'auto');
  const { promise: closed, resolve: markLost } = new Deferred();
  client.onclose = markLost;
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: boundedFetch,
  });
  try {
    await initialize(client, transport, signal);
  } catch (error) {
    await transport.close();
    throw notConnected(sdk, server, error);
  }
  // Newer servers announce changes on a separate stream. When it ends, the next call starts a new session, with a new list.
  client.autoOpenedSubscription?.closed.then(() => markLost());
  const close = async () => {
    // A failure does not matter: the server forgets the session by itself.
    const terminated = transport.terminateSession().catch(() => undefined);
    await Promise.race([terminated, new Promise((resolve) => setTimeout(resolve, terminateTimeoutMs).unref())]);
    await client.close();
  };
  return new McpSession(sdk, client, { closed, isIntended: closed.then(() => false) }, close, markLost);
}
