import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { ObjectHandle } from '../../memory/object/object.js';

/** JSON that may contain handles: each of them lets the receiver read its object. */
export type MessageBody =
  | JsonValue
  | ObjectHandle
  | readonly MessageBody[]
  | { readonly [property: string]: MessageBody };

/** A message that a process received. */
export interface Message<Body = MessageBody> {
  readonly id: string;
  /** The process that sent it, or the host. */
  readonly from: Pid | 'host';
  /** When it was sent. */
  readonly at: number;
  /** `message`, or the kind of a message of the kernel, such as `command.ended`. */
  readonly kind: string;
  /** What was sent; for a `receive` with a schema, the output of the schema. */
  readonly body: Body;
}

/** Options of `receive`. */
export interface ReceiveOptions {
  /** Only messages of this process, or of the host. */
  readonly from?: Pid | 'host';
  /** WAIT_TIMEOUT when it is over; 0 polls. */
  readonly timeoutMs?: number;
  /** Ends the wait with CANCELLED. */
  readonly signal?: AbortSignal;
}
