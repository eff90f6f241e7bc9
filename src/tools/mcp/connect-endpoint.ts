import { Deferred } from '../../base/deferred.js';
import { boundedFetch } from './bounded-fetch.js';
import { type ClientOptions, createClient, initialize } from './mcp-client.js';
import { notConnected } from './mcp-errors.js';
import { McpSession } from './mcp-session.js';
import type { ParsedEndpoint } from './mcp-target.js';

/** How long a server is given to end its session. */
const terminateTimeoutMs = 1_000;

/** Speaks with a server over streamable HTTP. The package comes back by itself when a stream breaks. */
export async function connectEndpoint(options: ClientOptions, { url, headers }: ParsedEndpoint): Promise<McpSession> {
  const { sdk, server, signal } = options;
  const client = createClient(options, 'auto');
  const { promise: silent, resolve: lose } = new Deferred();
  client.onclose = lose;
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
  // Newer servers tell changes on a stream of their own. When it ends, the next call begins anew, with a new list.
  client.autoOpenedSubscription?.closed.then(() => lose());
  const hangUp = async () => {
    // A server that does not answer has ended the session in its own way.
    const farewell = transport.terminateSession().catch(() => undefined);
    await Promise.race([farewell, new Promise((resolve) => setTimeout(resolve, terminateTimeoutMs).unref())]);
    await client.close();
  };
  return new McpSession(sdk, client, { closed: silent, isIntended: silent.then(() => false) }, hangUp, lose);
}
