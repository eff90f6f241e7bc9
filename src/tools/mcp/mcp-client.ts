import type {
  Client,
  ClientOptions as SdkOptions,
  Transport,
  VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import type { Logger } from '../../base/logger.js';
import { packageVersion } from '../../base/package/package-version.js';
import { timerMsMax } from '../../base/spec.js';
import type { McpPackage } from './mcp-package.js';
import { toolsMax } from './mcp-tools.js';

/** Options of the client of one session. */
export interface ClientOptions {
  readonly sdk: McpPackage;
  readonly server: string;
  /** Aborts when connecting takes too long. */
  readonly signal: AbortSignal;
  /** Called when the server notifies that its tools have changed. */
  readonly onChanged: () => void;
  readonly logger: Logger;
}

/** The most errors of one session that are logged. */
const reportsMax = 10;

/** For the package's own check of results, which would run a server's schema without a limit. Results are checked later. */
const jsonSchemaValidator: NonNullable<SdkOptions['jsonSchemaValidator']> = {
  getValidator() {
    return (input) => ({ valid: true, data: input as never, errorMessage: undefined });
  },
};

/**
 * A client without capabilities: requests of a server to its client, such as for file roots, sampling or elicitation, are
 * refused.
 */
export function createClient({ sdk, server, onChanged, logger }: ClientOptions, mode: VersionNegotiationMode): Client {
  const client = new sdk.Client(
    { name: 'procura', version: packageVersion },
    {
      capabilities: {},
      jsonSchemaValidator,
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
    logger.warn({ server, problem }, `MCP server ${server} sent something invalid, or the connection failed`);
  };
  return client;
}

/** Makes the handshake. Closes the transport when `signal` aborts, which not every step of the SDK does itself. */
export async function initialize(client: Client, transport: Transport, signal: AbortSignal): Promise<void> {
  const onAbort = () => void transport.close();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    signal.throwIfAborted();
    // The largest timeout, so that the signal decides instead of the SDK's default.
    await client.connect(transport, { signal, timeout: timerMsMax });
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
