import { setTimeout as sleep } from 'node:timers/promises';
import type { KernelClock } from '../../base/clock.js';
import { errorText } from '../../base/errors.js';
import type { Logger } from '../../base/logger.js';
import { untilAborted } from '../../base/until-aborted.js';
import { RestartWindow } from '../../runtime/supervision/restart-window.js';
import { connectionClosed, connectTimeout, serverDown } from './mcp-errors.js';
import type { McpSession } from './mcp-session.js';

/** Restarts of a program that has ended, before the connection counts as down. */
const restarts = { intensity: 5, periodMs: 60_000, backoff: { baseMs: 100, factor: 2 } };

export interface ReconnectOptions {
  readonly server: string;
  /** A program is started again when it has ended; for a URL the next call starts a new session. */
  readonly isProgram: boolean;
  readonly connectTimeoutMs: number;
  readonly clock: KernelClock;
  readonly logger: Logger;
  readonly connect: (signal: AbortSignal) => Promise<McpSession>;
  /** Called with each new session before any call uses it. */
  readonly initialize: (session: McpSession, signal: AbortSignal) => Promise<void>;
  /** Called when the program was stopped on purpose, through its process. */
  readonly onStopped: () => void;
  /** Called when the program was restarted too often and is given up. */
  readonly onDown: () => void;
}

/** Keeps one session with a server, and starts another one when it is lost. */
export class McpReconnect {
  private readonly restartWindow = new RestartWindow(restarts);
  private readonly closing = new AbortController();
  private session: McpSession | undefined;
  private connecting: Promise<McpSession> | undefined;
  private isDown = false;
  /** Since it was told, until there is a session again. */
  private isLost = false;

  constructor(private readonly options: ReconnectOptions) {}

  /** Undefined while there is no session. */
  get openSession(): McpSession | undefined {
    return this.session;
  }

  /** Starts the first session. Throws TOOL_FAILED. */
  async connect(): Promise<void> {
    await this.trackConnecting(this.startSession());
  }

  /** The open session, or the next one. Throws TOOL_FAILED when there will be none, and the reason of `signal`. */
  async waitForSession(signal: AbortSignal): Promise<McpSession> {
    if (this.closing.signal.aborted) throw connectionClosed(this.options.server);
    if (this.isDown) throw serverDown(this.options.server);
    return this.session ?? untilAborted(signal, this.connecting ?? this.trackConnecting(this.startSession()));
  }

  /** Closes the session. Calls that wait for one fail. */
  async close(): Promise<void> {
    this.closing.abort(connectionClosed(this.options.server));
    // The error reaches the calls that wait for it.
    await this.connecting?.catch(() => undefined);
    const { session } = this;
    this.session = undefined;
    await session?.close();
  }

  private async startSession(): Promise<McpSession> {
    const { server, connectTimeoutMs, connect, initialize } = this.options;
    const timeout = AbortSignal.timeout(connectTimeoutMs);
    const signal = AbortSignal.any([timeout, this.closing.signal]);
    let session: McpSession | undefined;
    try {
      session = await connect(signal);
      await initialize(session, signal);
      this.closing.signal.throwIfAborted();
    } catch (error) {
      await session?.close();
      this.closing.signal.throwIfAborted();
      throw timeout.aborted ? connectTimeout(server, connectTimeoutMs) : error;
    }
    this.session = session;
    if (this.isLost) this.options.logger.warn({ server }, `MCP server ${server} is connected again`);
    this.isLost = false;
    void this.watch(session);
    return session;
  }

  private async watch(session: McpSession): Promise<void> {
    await session.end.closed;
    if (this.session !== session) return;
    this.session = undefined;
    // If it fails, the next calls get the error.
    if (this.options.isProgram) this.trackConnecting(this.reconnect(session)).catch(() => undefined);
    else await this.loseSession(session);
  }

  private trackConnecting(connecting: Promise<McpSession>): Promise<McpSession> {
    this.connecting = connecting.finally(() => {
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
    await this.loseSession(lost);
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
    this.options.onDown();
    throw serverDown(server);
  }

  private async loseSession(session: McpSession): Promise<void> {
    const { server, isProgram, logger } = this.options;
    const next = isProgram ? 'its program is started again' : 'the next call connects it again';
    logger.warn({ server }, `MCP server ${server} was lost: ${next}`);
    this.isLost = true;
    await session.close().catch((error) => {
      logger.warn({ server, problem: errorText(error) }, `MCP server ${server} could not be stopped`);
    });
  }
}
