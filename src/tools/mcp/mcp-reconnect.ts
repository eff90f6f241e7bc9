import { setTimeout as sleep } from 'node:timers/promises';
import type { KernelClock } from '../../base/clock.js';
import { errorText } from '../../base/error-text.js';
import type { Logger } from '../../base/logger.js';
import { untilAborted } from '../../base/until-aborted.js';
import { RestartWindow } from '../../runtime/supervision/restart-window.js';
import { connectionClosed, notInTime, serverDown } from './mcp-errors.js';
import type { McpSession } from './mcp-session.js';

/** A program that ended is started again so often; the next time the connection is down. */
const restarts = { intensity: 5, periodMs: 60_000, backoff: { baseMs: 100, factor: 2 } };

export interface LineSettings {
  readonly server: string;
  /** A program is started again when it has ended; at an address the next call begins a new conversation. */
  readonly isProgram: boolean;
  readonly connectTimeoutMs: number;
  readonly clock: KernelClock;
  readonly logger: Logger;
  readonly dial: (signal: AbortSignal) => Promise<McpSession>;
  /** What has to be done with a new conversation before anybody else uses it. */
  readonly greet: (link: McpSession, signal: AbortSignal) => Promise<void>;
  /** Somebody has stopped the server on purpose. */
  readonly onStopped: () => void;
}

/** Keeps one conversation with a server, as long as that can be had. */
export class McpReconnect {
  private readonly window = new RestartWindow(restarts);
  private readonly ending = new AbortController();
  private link: McpSession | undefined;
  private reviving: Promise<McpSession> | undefined;
  private isDown = false;

  constructor(private readonly settings: LineSettings) {}

  /** The conversation of now, if there is one. */
  get live(): McpSession | undefined {
    return this.link;
  }

  /** Begins the first conversation. Throws TOOL_FAILED. */
  async open(): Promise<void> {
    await this.beginning(this.begin());
  }

  /** The conversation to use, when there is one again. Throws TOOL_FAILED when there will be none, and what `signal` says. */
  async current(signal: AbortSignal): Promise<McpSession> {
    if (this.ending.signal.aborted) throw connectionClosed(this.settings.server);
    if (this.isDown) throw serverDown(this.settings.server);
    return this.link ?? untilAborted(signal, this.reviving ?? this.beginning(this.begin()));
  }

  /** Stops the server. Calls that wait for it fail. */
  async close(): Promise<void> {
    this.ending.abort(connectionClosed(this.settings.server));
    // Whoever waits for it has been told.
    await this.reviving?.catch(() => undefined);
    const { link } = this;
    this.link = undefined;
    await link?.close();
  }

  private async begin(): Promise<McpSession> {
    const { server, connectTimeoutMs, dial, greet } = this.settings;
    const late = AbortSignal.timeout(connectTimeoutMs);
    const signal = AbortSignal.any([late, this.ending.signal]);
    let link: McpSession | undefined;
    try {
      link = await dial(signal);
      await greet(link, signal);
      this.ending.signal.throwIfAborted();
    } catch (error) {
      await link?.close();
      this.ending.signal.throwIfAborted();
      throw late.aborted ? notInTime(server, connectTimeoutMs) : error;
    }
    this.link = link;
    void this.watch(link);
    return link;
  }

  private async watch(link: McpSession): Promise<void> {
    await link.ends.silent;
    if (this.link !== link) return;
    this.link = undefined;
    // Whether it came back is told to those who call.
    if (this.settings.isProgram) this.beginning(this.restart(link)).catch(() => undefined);
    else await this.hangUp(link);
  }

  private beginning(begun: Promise<McpSession>): Promise<McpSession> {
    this.reviving = begun.finally(() => {
      this.reviving = undefined;
    });
    return this.reviving;
  }

  private async restart(lost: McpSession): Promise<McpSession> {
    const { server, clock, logger, onStopped } = this.settings;
    if (await lost.ends.isMeant) {
      onStopped();
      throw connectionClosed(server);
    }
    await this.hangUp(lost);
    for (;;) {
      const delayMs = this.window.count(clock.peek());
      if (delayMs === undefined) break;
      await sleep(delayMs, undefined, { ref: false, signal: this.ending.signal });
      try {
        return await this.begin();
      } catch (error) {
        this.ending.signal.throwIfAborted();
        logger.warn({ server, problem: errorText(error) }, `MCP server ${server} could not be restarted`);
      }
    }
    this.isDown = true;
    logger.error({ server }, `MCP server ${server} is down: it was restarted too often`);
    throw serverDown(server);
  }

  private async hangUp(link: McpSession): Promise<void> {
    const { server, logger } = this.settings;
    await link.close().catch((error) => {
      logger.warn({ server, problem: errorText(error) }, `MCP server ${server} could not be stopped`);
    });
  }
}
