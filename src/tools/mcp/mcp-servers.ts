import { setTimeout as sleep } from 'node:timers/promises';
import { inject, injectable } from 'inversify';
import { errorText, KernelError } from '../../base/errors.js';
import { Logger } from '../../base/logger.js';
import { McpConnections } from './mcp-connections.js';
import type { ParsedTarget } from './mcp-target.js';

const retryMs = { first: 500, max: 60_000 };
/** The failed attempts of a server are told at most this often. */
const tellEveryMs = 60_000;

/** Connects the servers that the kernel was opened with, and tries those that cannot be reached, or not any more, until they can. */
@injectable()
export class McpServers {
  private readonly closing = new AbortController();
  /** By name; each settles when the server is connected, or is not tried any more. */
  private readonly pending = new Map<string, Promise<void>>();
  /** The number of times that each server was down, since the kernel was opened. */
  private readonly downs = new Map<string, number>();
  /** Those that were told to be missing. */
  private readonly missing = new Set<string>();

  constructor(
    @inject(McpConnections) private readonly connections: McpConnections,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** Resolves when all are connected, or after `waitMs`. Never throws. */
  async connectAll(servers: ReadonlyMap<string, ParsedTarget>, waitMs: number): Promise<void> {
    if (servers.size === 0) return;
    for (const [name, target] of servers) this.begin(name, target);
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, waitMs);
    });
    await Promise.race([Promise.all(this.pending.values()), timeout]);
    clearTimeout(timer);
    for (const server of this.pending.keys()) this.tellMissing(server, waitMs);
  }

  /** Tries nothing any more, and closes all connections of the kernel. */
  async close(): Promise<void> {
    this.closing.abort();
    await this.connections.close();
    await Promise.all(this.pending.values());
  }

  private begin(name: string, target: ParsedTarget): void {
    this.track(name, this.connect(name, target));
  }

  /** Takes the tools of a server away that has ended too often, so that processes wait for them, and tries it on. */
  private beginAgain(name: string, target: ParsedTarget, close: () => Promise<void>): void {
    if (this.closing.signal.aborted) return;
    const connectAgain = async () => {
      await close();
      this.missing.add(name);
      const times = (this.downs.get(name) ?? 0) + 1;
      this.downs.set(name, times);
      const delayMs = Math.min(retryMs.first * 2 ** times, retryMs.max);
      if (await this.sleep(delayMs)) await this.connect(name, target);
    };
    this.track(name, connectAgain());
  }

  private track(name: string, connecting: Promise<void>): void {
    this.pending.set(
      name,
      connecting.finally(() => this.pending.delete(name)),
    );
  }

  private async connect(server: string, target: ParsedTarget): Promise<void> {
    let toldAt = Number.NEGATIVE_INFINITY;
    for (let delayMs = retryMs.first; ; delayMs = Math.min(2 * delayMs, retryMs.max)) {
      const isFirst = delayMs === retryMs.first;
      try {
        const onDown = (close: () => Promise<void>) => this.beginAgain(server, target, close);
        await this.connections.connectTo(server, target, { isRecorded: isFirst, onDown });
        if (this.missing.has(server)) this.logger.warn({ server }, `MCP server ${server} is connected now`);
        return;
      } catch (error) {
        if (this.closing.signal.aborted) return;
        if (isTaken(error)) return this.tellTaken(server);
        if (performance.now() - toldAt >= tellEveryMs) {
          toldAt = performance.now();
          const message = `MCP server ${server} could not be connected; it is tried on`;
          this.logger.warn({ server, problem: errorText(error) }, message);
        }
      }
      if (!(await this.sleep(delayMs))) return;
    }
  }

  /** False when the kernel was closed meanwhile. */
  private sleep(ms: number): Promise<boolean> {
    return sleep(ms, true, { ref: false, signal: this.closing.signal }).catch(() => false);
  }

  private tellMissing(server: string, waitedMs: number): void {
    this.missing.add(server);
    const message = `MCP server ${server} is not connected yet: processes that need its tools wait for it`;
    this.logger.warn({ server, waitedMs }, message);
  }

  private tellTaken(server: string): void {
    this.logger.warn({ server }, `MCP server ${server} was connected by the host under the same name; it is kept`);
  }
}

/** Whether the host has connected a server of this name meanwhile. */
function isTaken(error: unknown): boolean {
  return error instanceof KernelError && error.code === 'CONFLICT';
}
