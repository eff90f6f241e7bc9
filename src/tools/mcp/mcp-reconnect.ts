import { setTimeout as sleep } from 'node:timers/promises';
import type { KernelClock } from '../../base/clock.js';
import { errorText } from '../../base/errors.js';
import type { Logger } from '../../base/logger.js';
import { untilAborted } from '../../base/until-aborted.js';
import { RestartWindow } from '../../runtime/supervision/restart-window.js';
import { connectionClosed, connectTimeout, serverDown } from './mcp-errors.js';
import type { McpSession } from './mcp-session.js';

/** A program that ended is started again so often; the next time the connection is down. */
const restarts = { intensity: 5, periodMs: 60_000, backoff: { baseMs: 100, factor: 2 } };

export interface ReconnectOptions {
  readonly server: string;
  /** A program is started again when it has ended; at an address the next call begins a new conversation. */
  readonly isProgram: boolean;
  readonly connectTimeoutMs: number;
  readonly clock: KernelClock;
  readonly logger: Logger;
  readonly connect: (signal: AbortSignal) => Promise<McpSession>;
  /** What has to be done with a new conversation before anybody else uses it. */
  readonly initialize: (link: McpSession, signal: AbortSignal) => Promise<void>;
  /** Somebody has stopped the server on purpose. */
  readonly onStopped: () => void;
}

/** Keeps one conversation with a server, as long as that can be had. */
export class McpReconnect {
  private readonly restartWindow = new RestartWindow(restarts);
  private readonly closing = new AbortController();
  private session: McpSession | undefined;
  private connecting: Promise<McpSession> | undefined;
  private isDown = false;

  constructor(private readonly options: ReconnectOptions) {}

  /** The conversation of now, if there is one. */
  get openSession(): McpSession | undefined {
    return this.session;
  }

  /** Begins the first conversation. Throws TOOL_FAILED. */
  async connect(): Promise<void> {
    await this.trackConnecting(this.startSession());
  }

  /** The conversation to use, when there is one again. Throws TOOL_FAILED when there will be none, and what `signal` says. */
  async waitForSession(signal: AbortSignal): Promise<McpSession> {
    if (this.closing.signal.aborted) throw connectionClosed(this.options.server);
    if (this.isDown) throw serverDown(this.options.server);
    return this.session ?? untilAborted(signal, this.connecting ?? this.trackConnecting(this.startSession()));
  }

  /** Stops the server. Calls that wait for it fail. */
  async close(): Promise<void> {
    this.closing.abort(connectionClosed(this.options.server));
    // Whoever waits for it has been told.
    await this.connecting?.catch(() => undefined);
    const { session: link } = this;
    this.session = undefined;
    await link?.close();
  }

  private async startSession(): Promise<McpSession> {
    const { server, connectTimeoutMs, connect: dial, initialize: greet } = this.options;
    const late = AbortSignal.timeout(connectTimeoutMs);
    const signal = AbortSignal.any([late, this.closing.signal]);
    let link: McpSession | undefined;
    try {
      link = await dial(signal);
      await greet(link, signal);
      this.closing.signal.throwIfAborted();
    } catch (error) {
      await link?.close();
      this.closing.signal.throwIfAborted();
      throw late.aborted ? connectTimeout(server, connectTimeoutMs) : error;
    }
    this.session = link;
    void this.watch(link);
    return link;
  }

  private async watch(link: McpSession): Promise<void> {
    await link.end.closed;
    if (this.session !== link) return;
    this.session = undefined;
    // Whether it came back is told to those who call.
    if (this.options.isProgram) this.trackConnecting(this.reconnect(link)).catch(() => undefined);
    else await this.closeSession(link);
  }

  private trackConnecting(begun: Promise<McpSession>): Promise<McpSession> {
    this.connecting = begun.finally(() => {
      this.connecting = undefined;
    });
    return this.connecting;
  }

  private async reconnect(lost: McpSession): Promise<McpSession> {
    const { server, clock, logger, onStopped } = this.options;
    if (await lost.end.isIntended) {
      onStopped();
      throw connectionClosed(server);
    }
    await this.closeSession(lost);
    for (;;) {
      const delayMs = this.restartWindow.count(clock.peek());
      if (delayMs === undefined) break;
      await sleep(delayMs, undefined, { ref: false, signal: this.closing.signal });
      try {
        return await this.startSession();
      } catch (error) {
        this.closing.signal.throwIfAborted();
        logger.warn({ server, problem: errorText(error) }, `MCP server ${server} could not be restarted`);
      }
    }
    this.isDown = true;
    logger.error({ server }, `MCP server ${server} is down: it was restarted too often`);
    throw serverDown(server);
  }

  private async closeSession(link: McpSession): Promise<void> {
    const { server, logger } = this.options;
    await link.close().catch((error) => {
      logger.warn({ server, problem: errorText(error) }, `MCP server ${server} could not be stopped`);
    });
  }
}
