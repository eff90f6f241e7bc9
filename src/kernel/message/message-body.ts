import { invalidInput } from '../../base/errors.js';
import type { ObjectId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { copyPlain, payloadLimits } from '../../base/plain.js';
import { mintHandle, ObjectHandle } from '../../memory/object/object-handle.js';
import type { MessageBody } from './message.js';
import type { MessageHandle, StoredMessage } from './message-repository.js';

/** An object that is to be sent, and where in the body it stands. */
export interface Attachment {
  readonly path: readonly (string | number)[];
  readonly object: ObjectId;
}

export interface ParsedBody {
  /** With null where handles stood. */
  readonly body: JsonValue;
  readonly enclosures: readonly Attachment[];
}

/** Handles in one message: each of them is a capability that is made in the unit of the sending. */
const enclosuresMax = 100;

/** Copies a message into data, and takes the handles out of it. Throws INVALID_INPUT. */
export function parseBody(input: unknown): ParsedBody {
  const { body, handles } = closedBody(input);
  return { body, enclosures: handles };
}

/** The reverse of `openedBody`. Throws INVALID_INPUT for what is no message. */
export function closedBody(input: unknown): { readonly body: JsonValue; readonly handles: readonly MessageHandle[] } {
  const copy: unknown = copyPlain(input, 'message', payloadLimits, ObjectHandle.is);
  const handles: MessageHandle[] = [];
  return { body: withoutHandles(copy, [], handles), handles };
}

/** `path` is where `value` stands. */
function withoutHandles(value: unknown, path: (string | number)[], found: MessageHandle[]): JsonValue {
  if (ObjectHandle.is(value)) {
    if (found.length === enclosuresMax) throw tooMany();
    found.push({ path: [...path], object: value.id, capability: value.capability });
    return null;
  }
  if (typeof value === 'object' && value !== null) {
    const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
    const members = value as Members;
    for (const key of keys) {
      path.push(key);
      members[key] = withoutHandles(members[key], path, found);
      path.pop();
    }
  }
  return value as JsonValue;
}

/** The body with its handles, as its receiver gets it. */
export function openedBody({ body, handles }: Pick<StoredMessage, 'body' | 'handles'>): MessageBody {
  const envelope: Members = { body };
  for (const { path, object, capability } of handles ?? []) {
    let holder = envelope;
    let key: string | number = 'body';
    for (const step of path) {
      holder = holder[key] as Members;
      key = step;
    }
    holder[key] = mintHandle(object, ['read'], capability);
  }
  return envelope.body as MessageBody;
}

type Members = Record<string | number, unknown>;

function tooMany() {
  return invalidInput(
    'message',
    `has over ${enclosuresMax} handles`,
    'Send several messages, or an object that links.',
    {
      handlesMax: enclosuresMax,
    },
  );
}
