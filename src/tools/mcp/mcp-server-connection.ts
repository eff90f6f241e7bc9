import { setTimeout as sleep } from 'node:timers/promises';
import type { KernelClock } from '../../base/clock.js';
import { errorText } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import type { Logger } from '../../base/logger.js';
import type { PlainLimits } from '../../base/spec.js';
import type { ToolInfo } from '../../kernel/face/process-tools.js';
import type { ToolRegistry } from '../tool-registry.js';
import type { ForeignSchemas } from './foreign-schemas.js';
import type { ClientOptions } from './mcp-client.js';
import { callFailed, connectionClosed, notConnected } from './mcp-errors.js';
import type { McpPackage } from './mcp-package.js';
import { McpReconnect } from './mcp-reconnect.js';
import type { CloseReason, ToolChanges } from './mcp-recorder.js';
import { toToolResult } from './mcp-result.js';
import type { McpSession } from './mcp-session.js';
import type { McpConnection, ParsedEndpoint, ParsedProgram } from './mcp-target.js';
import { type ListedTool, type McpCall, mcpToolName } from './mcp-tool.js';
import { McpTools } from './mcp-tools.js';

/** The dependencies of a connection. */
export interface McpDeps {
  readonly sdk: McpPackage;
  readonly registry: ToolRegistry;
  readonly schemas: ForeignSchemas;
  readonly clock: KernelClock;
  readonly logger: Logger;
  /** For the results of its tools. */
  readonly limits: PlainLimits;
  readonly connect: (options: ClientOptions) => Promise<McpSession>;
  /** Called when its tools have changed; `tools` is their new number. */
  readonly onChanged: (changes: ToolChanges, tools: number) => Promise<void>;
  /** Called when its program has ended too often. Its tools are there, and cannot be called. */
  readonly onDown: () => void;
  /** Called when its `tools` tools are removed and it is stopped. */
  readonly onClosed: (reason: CloseReason, tools: number) => Promise<void>;
}

/** The least time from one listing to the next that the server causes. */
const refreshMs = 1_000;

/** A connected server: its session, which is replaced when it is lost, and the tools that it listed last. */
export class McpServerConnection implements McpConnection {
  private readonly reconnect: McpReconnect;
  private readonly mcpTools: McpTools;
  private lastListing: Promise<unknown> = Promise.resolve();
  private isStale = false;
  /** When the tools were last listed again. */
  private listedAt = Number.NEGATIVE_INFINITY;
  private isOpen = false;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly server: string,
    private readonly target: ParsedProgram | ParsedEndpoint,
    private readonly deps: McpDeps,
  ) {
    const { sdk, registry, schemas, clock, logger, connect } = deps;
    const onChanged = () => this.refresh();
    const call: McpCall = (...request) => this.call(...request);
    this.mcpTools = new McpTools(server, target.effects, call, registry, schemas, logger);
    this.reconnect = new McpReconnect({
      server,
      isProgram: 'command' in target,
      connectTimeoutMs: target.connectTimeoutMs,
      clock,
      logger,
      connect: (signal) => connect({ sdk, server, signal, onChanged, logger }),
      initialize: (session, signal) => this.enqueue(() => this.updateTools(session, signal)),
      onDown: deps.onDown,
      onStopped: () => void this.closeFor('stopped').catch((error) => this.report(error, 'could not be closed')),
    });
  }

  get tools(): ToolInfo[] {
    return this.mcpTools.list();
  }

  /** Starts the first session. Throws TOOL_FAILED, with no tool left registered. */
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

  /** Removes its tools at once; calls under way fail. */
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
    const session = await this.reconnect.waitForSession(signal);
    try {
      const result = await session.call(tool.name, args, signal);
      return toToolResult(name, result, tool.outputSchema !== undefined, limits);
    } catch (error) {
      signal.throwIfAborted();
      throw this.closing === undefined ? callFailed(sdk, name, error) : connectionClosed(this.server);
    }
  }

  /**
   * Lists the tools again, at most once a second. Notifications that arrive before the listing has begun are answered by that
   * one listing.
   */
  private refresh(): void {
    if (this.isStale) return;
    this.isStale = true;
    this.enqueue(async () => {
      const restMs = this.listedAt + refreshMs - performance.now();
      if (restMs > 0) await sleep(restMs, undefined, { ref: false });
      this.isStale = false;
      this.listedAt = performance.now();
      const { openSession } = this.reconnect;
      if (openSession !== undefined)
        await this.updateTools(openSession, AbortSignal.timeout(this.target.connectTimeoutMs));
    }).catch((error) => this.report(error, 'could not tell its tools again'));
  }

  private async updateTools(session: McpSession, signal: AbortSignal): Promise<void> {
    const { sdk, onChanged } = this.deps;
    const listed = await session.list(signal).catch((error) => {
      throw notConnected(sdk, this.server, error);
    });
    const changes = await this.mcpTools.update(listed, signal);
    const isChanged = changes.added + changes.removed + changes.changed > 0;
    if (isChanged && this.isOpen && this.closing === undefined) await onChanged(changes, this.tools.length);
  }

  /** Runs after all earlier listings. */
  private enqueue<T>(work: () => Promise<T>): Promise<T> {
    const listing = this.lastListing.then(work);
    this.lastListing = listing.catch(() => undefined);
    return listing;
  }

  private report(error: unknown, problem: string): void {
    const { server } = this;
    this.deps.logger.warn({ server, problem: errorText(error) }, `MCP server ${server} ${problem}`);
  }
}
