import { validate } from '../../base/schema/schema.js';
import type { StandardSchema } from '../../base/schema/schema-types.js';
import type { Message } from './message.js';

/** The message with the output of the receiver's schema as its body. Throws INVALID_INPUT for a body that does not fit. */
export async function withValidBody(message: Message, schema: StandardSchema): Promise<Message<unknown>> {
  const { id, from, kind } = message;
  const body = await validate(schema, message.body, {
    path: 'message.body',
    hint: 'The message was taken from the mailbox. Handle the error, or have the sender send what fits the schema.',
    facts: { message: id, from, kind },
  });
  return { ...message, body };
}
