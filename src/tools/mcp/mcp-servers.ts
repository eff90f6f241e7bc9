import { setTimeout as sleep } from 'node:timers/promises';
import { inject, injectable } from 'inversify';
import { errorText, KernelError } from '../../base/errors.js';
import { Logger } from '../../base/logger.js';
import { McpConnections } from './mcp-connections.js';
import type { ParsedTarget } from './mcp-target.js';

const retryMs = { first: 500, max: 60_000 };
/** The failed attempts of a server are told at most this often. */
const tellEveryMs = 60_000;

/** Connects the servers that the kernel was opened with, and tries those that cannot be reached until they can. */
@injectable()
export class McpServers {
  private readonly closing = new AbortController();
  /** By name; each settles when the server is connected, or is not tried any more. */
  private readonly pending = new Map<string, Promise<void>>();
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
    const connecting = this.connect(name, target).finally(() => this.pending.delete(name));
    this.pending.set(name, connecting);
  }

  private async connect(server: string, target: ParsedTarget): Promise<void> {
    let toldAt = Number.NEGATIVE_INFINITY;
    for (let delayMs = retryMs.first; ; delayMs = Math.min(2 * delayMs, retryMs.max)) {
      const isFirst = delayMs === retryMs.first;
      try {
        await this.connections.connectTo(server, target, { isRecorded: isFirst });
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
      // Rejects when the kernel is closed meanwhile.
      const isOver = await sleep(delayMs, false, { ref: false, signal: this.closing.signal }).catch(() => true);
      if (isOver) return;
    }
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
