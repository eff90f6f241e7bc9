import { setImmediate } from 'node:timers/promises';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { PipedCommand } from '../../command/drive/piped-commands.js';
import type { McpPackage } from './mcp-package.js';
import { MessageLines } from './message-lines.js';

/** How long one message of a server may be. */
const messageBytesMax = 10 * 1024 * 1024;
/** How many lines may be no message, one after another: some servers write their log there, and others are no servers. */
const noiseMax = 1_000;

/** The protocol over the pipes of a program: a message a line. It does not start the program and does not stop it. */
export class PipeTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** By these two the package tells pipes from HTTP. */
  readonly pid: string;
  readonly stderr = null;
  private readonly lines = new MessageLines(messageBytesMax);
  private noise = 0;
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

  /** A program may write faster than it can be understood: others get their turns after each piece. */
  private async listen(): Promise<void> {
    try {
      for await (const chunk of this.command.stdout) {
        for (const line of this.lines.add(chunk as Buffer)) this.read(line);
        await setImmediate();
      }
    } catch (error) {
      if (!this.isClosed) this.onerror?.(error as Error);
    }
    this.end();
  }

  private read(line: string): void {
    if (this.isClosed) return;
    const message = this.messageOf(line);
    this.noise = message === undefined ? this.noise + 1 : 0;
    if (this.noise > noiseMax) throw new Error(`more than ${noiseMax} lines are no messages`);
    if (message !== undefined) this.onmessage?.(message);
  }

  private messageOf(line: string): JSONRPCMessage | undefined {
    try {
      return this.sdk.deserializeMessage(line);
    } catch {
      // It is no message: what else it may be is not for us.
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
