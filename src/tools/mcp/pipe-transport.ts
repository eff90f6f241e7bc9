import { setImmediate } from 'node:timers/promises';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { PipedCommand } from '../../command/drive/piped-commands.js';
import type { McpPackage } from './mcp-package.js';

const messageBytesMax = 10 * 1024 * 1024;
/** The most lines in a row that may be no messages: some servers write their log to stdout, and some programs are no servers. */
const strayLinesMax = 1_000;

/** MCP over the pipes of a program, one message per line. It neither starts nor stops the program. */
export class PipeTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** The SDK recognizes a transport over pipes by `pid` and `stderr`. */
  readonly pid: string;
  readonly stderr = null;
  private readonly lines = new MessageLines(messageBytesMax);
  private strayLines = 0;
  private isClosed = false;

  constructor(
    private readonly sdk: McpPackage,
    private readonly command: PipedCommand,
  ) {
    this.pid = command.pid;
  }

  async start(): Promise<void> {
    this.command.stdin.on('error', (error) => this.onerror?.(error));
    void this.listen();
  }

  send(message: JSONRPCMessage): Promise<void> {
    const { NotConnected } = this.sdk.SdkErrorCode;
    if (this.isClosed) return Promise.reject(new this.sdk.SdkError(NotConnected, 'The pipes are closed.'));
    return new Promise((resolve, reject) => {
      this.command.stdin.write(this.sdk.serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  async close(): Promise<void> {
    this.command.stdin.end();
    this.end();
  }

  /** Yields after each chunk, because a program may write faster than its messages can be handled. */
  private async listen(): Promise<void> {
    try {
      for await (const chunk of this.command.stdout) {
        for (const line of this.lines.add(chunk as Buffer)) this.handleLine(line);
        await setImmediate();
      }
    } catch (error) {
      if (!this.isClosed) this.onerror?.(error as Error);
    }
    this.end();
  }

  private handleLine(line: string): void {
    if (this.isClosed) return;
    const message = this.parseMessage(line);
    this.strayLines = message === undefined ? this.strayLines + 1 : 0;
    if (this.strayLines > strayLinesMax) throw new Error(`more than ${strayLinesMax} lines are no messages`);
    if (message !== undefined) this.onmessage?.(message);
  }

  private parseMessage(line: string): JSONRPCMessage | undefined {
    try {
      return this.sdk.deserializeMessage(line);
    } catch {
      // It is not a message, such as a line of a log.
      return undefined;
    }
  }

  private end(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.command.stdout.destroy();
    this.onclose?.();
  }
}

/** Splits chunks of bytes into lines. */
export class MessageLines {
  private parts: Buffer[] = [];
  private bytes = 0;

  constructor(private readonly bytesMax: number) {}

  /** The lines that are complete with this chunk. Throws RangeError for a line longer than `bytesMax`. */
  *add(chunk: Buffer): Generator<string> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      this.append(chunk.subarray(start, end));
      const line = Buffer.concat(this.parts).toString('utf8');
      this.parts = [];
      this.bytes = 0;
      start = end + 1;
      yield line;
    }
    this.append(chunk.subarray(start));
  }

  private append(part: Buffer): void {
    this.bytes += part.length;
    if (this.bytes > this.bytesMax) throw new RangeError(`a line is longer than ${this.bytesMax} bytes`);
    this.parts.push(part);
  }
}

const newline = '\n'.charCodeAt(0);
