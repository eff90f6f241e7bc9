import { invalidInput } from '../../base/errors.js';
import type { ObjectId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { copyPlain, payloadLimits } from '../../base/spec.js';
import { mintHandle, ObjectHandle } from '../../memory/object/object.js';
import type { MessageBody } from './message.js';
import type { MessageHandle, StoredMessage } from './message-repository.js';

/** An object in the body of a message to be sent, and its path in the body. */
export interface Attachment {
  readonly path: readonly (string | number)[];
  readonly object: ObjectId;
}

export interface ParsedBody {
  /** With null in the place of handles. */
  readonly body: JsonValue;
  readonly attachments: readonly MessageHandle[];
}

/** Each handle is a capability that is created in the unit of the send. */
const attachmentsMax = 100;

/** Copies a message and separates its handles from its data. Throws INVALID_INPUT. */
export function parseBody(input: unknown): ParsedBody {
  const { body, handles } = extractHandles(input);
  return { body, attachments: handles };
}

/** The reverse of `openedBody`. Throws INVALID_INPUT for what is no message. */
export function extractHandles(input: unknown): {
  readonly body: JsonValue;
  readonly handles: readonly MessageHandle[];
} {
  const copy: unknown = copyPlain(input, 'message', payloadLimits, ObjectHandle.is);
  const handles: MessageHandle[] = [];
  return { body: replaceHandles(copy, [], handles), handles };
}

/** Replaces handles by null and adds them to `found`. `path` is the path of `value`. */
function replaceHandles(value: unknown, path: (string | number)[], found: MessageHandle[]): JsonValue {
  if (ObjectHandle.is(value)) {
    if (found.length === attachmentsMax) throw tooManyHandles();
    found.push({ path: [...path], object: value.id, capability: value.capability });
    return null;
  }
  if (typeof value === 'object' && value !== null) {
    const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
    const members = value as Members;
    for (const key of keys) {
      path.push(key);
      members[key] = replaceHandles(members[key], path, found);
      path.pop();
    }
  }
  return value as JsonValue;
}

/** Puts the handles back into a body, as its receiver gets it. */
export function restoreHandles({ body, handles }: Pick<StoredMessage, 'body' | 'handles'>): MessageBody {
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

function tooManyHandles() {
  return invalidInput(
    'message',
    `has over ${attachmentsMax} handles`,
    'Send several messages, or an object that links.',
    {
      handlesMax: attachmentsMax,
    },
  );
}
