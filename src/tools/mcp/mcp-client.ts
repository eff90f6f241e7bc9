import type { Client, Transport, VersionNegotiationMode } from '@modelcontextprotocol/client';
import type { Logger } from '../../base/logger.js';
import { packageVersion } from '../../base/package-version.js';
import { timerMsMax } from '../../base/spec.js';
import type { McpPackage } from './mcp-package.js';
import { toolsMax } from './mcp-tools.js';

/** What is needed to begin a conversation with a server. */
export interface ClientOptions {
  readonly sdk: McpPackage;
  readonly server: string;
  /** Aborts when it takes too long. */
  readonly signal: AbortSignal;
  /** Called when the server says that its tools are not what they were. */
  readonly onChanged: () => void;
  readonly logger: Logger;
}

/** A server can say wrong things without end; so many of them are reported. */
const reportsMax = 10;

/**
 * The client of one conversation. It has no capabilities: what a server asks of its client, such as the roots of the files,
 * the answer of a model or the answer of a person, it is refused.
 */
export function createClient({ sdk, server, onChanged, logger }: ClientOptions, mode: VersionNegotiationMode): Client {
  const client = new sdk.Client(
    { name: 'procura', version: packageVersion() },
    {
      capabilities: {},
      versionNegotiation: { mode },
      inputRequired: { autoFulfill: false },
      listMaxPages: toolsMax,
      listChanged: { tools: { autoRefresh: false, debounceMs: 50, onChanged } },
    },
  );
  let reports = 0;
  client.onerror = ({ message }) => {
    if (++reports > reportsMax) return;
    const problem = message.slice(0, 300).toWellFormed();
    logger.warn({ server, problem }, `MCP server ${server} said something wrong, or could not be heard`);
  };
  return client;
}

/** Closes the transport when it takes too long; not every step of the package looks at the signal. */
export async function initialize(client: Client, transport: Transport, signal: AbortSignal): Promise<void> {
  const onAbort = () => void transport.close();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    signal.throwIfAborted();
    // The package has a limit of its own; here the signal decides.
    await client.connect(transport, { signal, timeout: timerMsMax });
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
