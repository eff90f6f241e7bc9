import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { ObjectHandle } from '../../memory/object/object-handle.js';

/** JSON in which objects may stand: each handle in it gives its receiver the reading of that object. */
export type MessageBody =
  | JsonValue
  | ObjectHandle
  | readonly MessageBody[]
  | { readonly [property: string]: MessageBody };

/** What a process has received. */
export interface Message {
  readonly id: string;
  readonly from: Pid;
  /** When it was sent. */
  readonly at: number;
  /** `message`, or what the kernel tells of. */
  readonly kind: string;
  readonly body: MessageBody;
}

export interface ReceiveOptions {
  /** Only what this process has sent. */
  readonly from?: Pid;
  /** WAIT_TIMEOUT when it is over; 0 polls. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}
