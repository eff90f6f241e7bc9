import type { CallToolResult, Client } from '@modelcontextprotocol/client';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { timerMsMax } from '../../base/spec.js';
import { isConnectionLost } from './mcp-errors.js';
import type { McpPackage } from './mcp-package.js';
import type { ListedTool } from './mcp-tool.js';

/** How a conversation ends. */
export interface SessionEnd {
  /** Resolves when nothing can be said any more. */
  readonly closed: Promise<unknown>;
  /** Resolves when it is known why: `true` when somebody stopped the server on purpose, otherwise it was lost. */
  readonly isIntended: Promise<boolean>;
}

/** One conversation with a server: from the handshake until one of both ends it. */
export class McpSession {
  constructor(
    private readonly sdk: McpPackage,
    private readonly client: Client,
    readonly end: SessionEnd,
    private readonly closeClient: () => Promise<void>,
    /** A call has found that the server cannot be talked to any more. */
    private readonly markLost: () => void = () => undefined,
  ) {}

  /** All pages of the list. */
  async list(signal: AbortSignal): Promise<ListedTool[]> {
    // The package writes to the console when a server without tools is asked for them.
    if (this.client.getServerCapabilities()?.tools === undefined) return [];
    const { tools } = await this.client.listTools({}, { cacheMode: 'refresh', signal, timeout: timerMsMax });
    return tools;
  }

  /** The server is told when the signal aborts. */
  async call(name: string, args: JsonValue, signal: AbortSignal): Promise<CallToolResult> {
    try {
      return await this.client.callTool({ name, arguments: args as JsonObject }, { signal, timeout: timerMsMax });
    } catch (error) {
      if (!signal.aborted && isConnectionLost(this.sdk, error)) this.markLost();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.closeClient();
  }
}
