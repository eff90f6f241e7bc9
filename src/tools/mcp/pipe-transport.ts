import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { PipedCommand } from '../commands/piped-commands.js';
import type { McpPackage } from './mcp-package.js';

type ReadBuffer = InstanceType<McpPackage['ReadBuffer']>;

/** How long one message of a server may be. */
const messageBytesMax = 10 * 1024 * 1024;

/** The protocol over the pipes of a program: a message a line. It does not start the program and does not stop it. */
export class PipeTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** By these two the package tells pipes from HTTP. */
  readonly pid: string;
  readonly stderr = null;
  private readonly buffer: ReadBuffer;
  private isClosed = false;

  constructor(
    private readonly sdk: McpPackage,
    private readonly command: PipedCommand,
  ) {
    this.pid = command.pid;
    this.buffer = new sdk.ReadBuffer({ maxBufferSize: messageBytesMax });
  }

  async start(): Promise<void> {
    const { stdin, stdout } = this.command;
    stdin.on('error', (error) => this.onerror?.(error));
    stdout.on('error', (error) => this.onerror?.(error));
    stdout.on('data', (chunk: Buffer) => this.read(chunk));
    stdout.once('close', () => this.end());
    if (stdout.destroyed || stdout.readableEnded) this.end();
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

  private read(chunk: Buffer): void {
    if (this.isClosed) return;
    try {
      this.buffer.append(chunk);
    } catch (error) {
      // What comes after a message that is too long cannot be understood.
      this.onerror?.(error as Error);
      this.end();
      return;
    }
    while (this.readMessage());
  }

  /** Lines that are no JSON are passed over; what is JSON and no message is reported. False when there is no more. */
  private readMessage(): boolean {
    try {
      const message = this.buffer.readMessage();
      if (message === null) return false;
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error as Error);
    }
    return true;
  }

  private end(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.buffer.clear();
    this.onclose?.();
  }
}
