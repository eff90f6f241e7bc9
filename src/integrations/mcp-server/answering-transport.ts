import type {
  JSONRPCMessage,
  MessageExtraInfo,
  RequestId,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/server';
import type { ServerPackage } from './server-package.js';

/** A transport that keeps track of requests without an answer, and of whether it is closed. */
export class AnsweringTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  /** Resolves when the connection is closed, by whichever side. */
  readonly closed: Promise<void>;
  private readonly open = new Set<RequestId>();
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly sdk: ServerPackage,
    private readonly wire: Transport,
  ) {
    this.closed = new Promise((resolve) => {
      wire.onclose = () => {
        this.open.clear();
        this.notifyWaiting();
        this.onclose?.();
        resolve();
      };
    });
    wire.onerror = (error) => this.onerror?.(error);
    wire.onmessage = (message, extra) => {
      this.track(message);
      this.onmessage?.(message, extra);
    };
  }

  start(): Promise<void> {
    return this.wire.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    try {
      await this.wire.send(message, options);
    } finally {
      const { isJSONRPCErrorResponse, isJSONRPCResultResponse } = this.sdk;
      if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) this.settle(message.id);
    }
  }

  close(): Promise<void> {
    return this.wire.close();
  }

  setProtocolVersion(version: string): void {
    this.wire.setProtocolVersion?.(version);
  }

  /** Resolves when everything that was asked is answered, and at the latest after `graceMs`. */
  untilAnswered(graceMs: number): Promise<void> {
    if (this.open.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, graceMs);
      this.waiting.add(done);
    });
  }

  /** Keeps track of a request; one that the client cancels gets no answer. */
  private track(message: JSONRPCMessage): void {
    const { isJSONRPCNotification, isJSONRPCRequest } = this.sdk;
    if (isJSONRPCRequest(message)) this.open.add(message.id);
    if (!isJSONRPCNotification(message) || message.method !== 'notifications/cancelled') return;
    const id = message.params?.requestId;
    if (typeof id === 'string' || typeof id === 'number') this.settle(id);
  }

  private settle(id: RequestId | undefined): void {
    if (id !== undefined) this.open.delete(id);
    if (this.open.size === 0) this.notifyWaiting();
  }

  private notifyWaiting(): void {
    for (const done of [...this.waiting]) done();
  }
}
