import type { CallToolResult, Client } from '@modelcontextprotocol/client';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { timerMsMax } from '../../base/spec.js';
import { isConnectionLost } from './mcp-errors.js';
import type { McpPackage } from './mcp-package.js';
import type { ListedTool } from './mcp-tool.js';

/** The end of a session. */
export interface SessionEnd {
  /** Resolves when no message can be sent any more. */
  readonly closed: Promise<unknown>;
  /** Resolves after `closed`: true when the server was stopped on purpose, false when the connection was lost. */
  readonly isIntended: Promise<boolean>;
}

/** One session with a server: from the handshake until one of both sides ends it. */
export class McpSession {
  constructor(
    private readonly sdk: McpPackage,
    private readonly client: Client,
    readonly end: SessionEnd,
    private readonly closeClient: () => Promise<void>,
    /** Called when a call has found that the connection is lost. */
    private readonly markLost: () => void = () => undefined,
  ) {}

  /** All pages of the list. */
  async list(signal: AbortSignal): Promise<ListedTool[]> {
    // The SDK writes to the console when a server without tools is asked for them.
    if (this.client.getServerCapabilities()?.tools === undefined) return [];
    const { tools } = await this.client.listTools({}, { cacheMode: 'refresh', signal, timeout: timerMsMax });
    return tools;
  }

  /** The server is notified when the signal aborts. */
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
