import type { KernelClock } from '../../base/clock.js';
import { errorText } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import type { Logger } from '../../base/logger.js';
import type { PlainLimits } from '../../base/plain.js';
import type { ToolInfo } from '../../kernel/face/process-tools.js';
import type { ToolRegistry } from '../tool-registry.js';
import type { ClientOptions } from './mcp-client.js';
import { callFailed, connectionClosed, notConnected } from './mcp-errors.js';
import type { McpPackage } from './mcp-package.js';
import { McpReconnect } from './mcp-reconnect.js';
import type { CloseReason, ToolChanges } from './mcp-recorder.js';
import { toToolResult } from './mcp-result.js';
import type { McpSession } from './mcp-session.js';
import type { McpConnection, ParsedEndpoint, ParsedProgram } from './mcp-target.js';
import { type ListedTool, mcpToolName } from './mcp-tool.js';
import { McpTools } from './mcp-tools.js';

/** What a server needs besides itself. */
export interface McpDeps {
  readonly sdk: McpPackage;
  readonly registry: ToolRegistry;
  readonly clock: KernelClock;
  readonly logger: Logger;
  /** Of what its tools give back. */
  readonly limits: PlainLimits;
  readonly connect: (dialling: ClientOptions) => Promise<McpSession>;
  /** Its tools are not what they were. */
  readonly onChanged: (changes: ToolChanges, tools: number) => Promise<void>;
  /** Its tools are gone, and it has been stopped. */
  readonly onClosed: (reason: CloseReason, tools: number) => Promise<void>;
}

/** A server that is connected: one conversation after another, and the tools that it told last. */
export class McpServerConnection implements McpConnection {
  private readonly reconnect: McpReconnect;
  private readonly mcpTools: McpTools;
  private refreshing: Promise<unknown> = Promise.resolve();
  private isStale = false;
  private isOpen = false;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly server: string,
    private readonly target: ParsedProgram | ParsedEndpoint,
    private readonly deps: McpDeps,
  ) {
    const { sdk, registry, clock, logger, connect: dial } = deps;
    const onChanged = () => this.refresh();
    this.mcpTools = new McpTools(server, target.effects, (...call) => this.call(...call), registry, logger);
    this.reconnect = new McpReconnect({
      server,
      isProgram: 'command' in target,
      connectTimeoutMs: target.connectTimeoutMs,
      clock,
      logger,
      connect: (signal) => dial({ sdk, server, signal, onChanged, logger }),
      initialize: (link, signal) => this.enqueue(() => this.updateTools(link, signal)),
      onStopped: () => void this.closeFor('stopped').catch((error) => this.report(error, 'could not be closed')),
    });
  }

  get tools(): ToolInfo[] {
    return this.mcpTools.list();
  }

  /** Begins the first conversation. Throws TOOL_FAILED, and nothing is left of it. */
  async connect(): Promise<void> {
    try {
      await this.reconnect.connect();
      this.isOpen = true;
    } catch (error) {
      this.mcpTools.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.closeFor('requested');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Its tools are gone at once, and calls under way fail. */
  closeFor(reason: CloseReason): Promise<void> {
    this.closing ??= this.closeOnce(reason);
    return this.closing;
  }

  private async closeOnce(reason: CloseReason): Promise<void> {
    const { length } = this.tools;
    this.mcpTools.close();
    try {
      await this.reconnect.close();
    } finally {
      await this.deps.onClosed(reason, length);
    }
  }

  private async call(tool: ListedTool, args: JsonValue, signal: AbortSignal): Promise<JsonValue> {
    const { sdk, limits } = this.deps;
    const name = mcpToolName(this.server, tool.name);
    const link = await this.reconnect.waitForSession(signal);
    try {
      const result = await link.call(tool.name, args, signal);
      return toToolResult(name, result, tool.outputSchema !== undefined, limits);
    } catch (error) {
      signal.throwIfAborted();
      throw this.closing === undefined ? callFailed(sdk, name, error) : connectionClosed(this.server);
    }
  }

  /** However often the server says that its tools have changed, they are listed once at a time. */
  private refresh(): void {
    if (this.isStale) return;
    this.isStale = true;
    this.enqueue(async () => {
      this.isStale = false;
      const { openSession: live } = this.reconnect;
      if (live !== undefined) await this.updateTools(live, AbortSignal.timeout(this.target.connectTimeoutMs));
    }).catch((error) => this.report(error, 'could not tell its tools again'));
  }

  private async updateTools(link: McpSession, signal: AbortSignal): Promise<void> {
    const { sdk, onChanged } = this.deps;
    const listed = await link.list(signal).catch((error) => {
      throw notConnected(sdk, this.server, error);
    });
    const changes = await this.mcpTools.update(listed);
    const isOther = changes.added + changes.removed + changes.changed > 0;
    if (isOther && this.isOpen && this.closing === undefined) await onChanged(changes, this.tools.length);
  }

  private enqueue<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.refreshing.then(work);
    this.refreshing = turn.catch(() => undefined);
    return turn;
  }

  private report(error: unknown, what: string): void {
    const { server } = this;
    this.deps.logger.warn({ server, problem: errorText(error) }, `MCP server ${server} ${what}`);
  }
}
