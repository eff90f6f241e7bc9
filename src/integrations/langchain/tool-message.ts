import type { StoredMessage, ToolMessage } from '@langchain/core/messages';
import type { JsonObject, JsonValue } from '../../index.js';
import type { CalledValue } from '../shared/call-as-value.js';
import type { CorePackage } from './core-package.js';

/** A call of a tool that the model requests. */
export interface RequestedCall {
  readonly name: string;
  readonly id?: string | undefined;
}

/** The message with the result of a call that the kernel answered with any JSON. */
export function toToolMessage(core: CorePackage, { name, id = '' }: RequestedCall, called: CalledValue): ToolMessage {
  const status = called.isError === true ? 'error' : 'success';
  return new core.ToolMessage({ content: toText(called.value), tool_call_id: id, name, status });
}

/** A text as it is, any other value as JSON. */
export function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * The result of a LangChain tool as JSON: a message of a tool as LangChain stores it, anything else as it is. Throws for a
 * result that changes the graph, because that cannot be repeated from what is stored.
 */
export function toStoredResult(result: unknown): JsonValue {
  if (isCommand(result)) {
    throw new Error(
      'the tool returned a Command, which the kernel cannot store: name it in stateTools of procuraMiddleware if it has no effect but on the state of the agent',
    );
  }
  return isToolMessage(result) ? storedMessage(result) : toPlain(result);
}

/** The message of a result of `toStoredResult`, for the call that the model has made. */
export function fromStoredResult(core: CorePackage, { name, id = '' }: RequestedCall, result: JsonValue): ToolMessage {
  if (!isStored(result)) return toToolMessage(core, { name, id }, { value: result });
  const message = core.mapStoredMessageToChatMessage(result as object as StoredMessage) as ToolMessage;
  message.tool_call_id = id;
  return message;
}

/** An artifact may be anything; one that is not JSON is left out. */
function storedMessage(message: ToolMessage): JsonValue {
  const { type, data } = message.toDict();
  try {
    return toPlain({ type, data });
  } catch {
    // A cycle, or a number that JSON does not have.
    return toPlain({ type, data: { ...data, artifact: undefined } });
  }
}

function toPlain(value: unknown): JsonValue {
  const text = JSON.stringify(value);
  return text === undefined ? null : (JSON.parse(text) as JsonValue);
}

function isStored(result: JsonValue): result is JsonObject {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return false;
  const { type, data } = result as JsonObject;
  return type === 'tool' && typeof data === 'object' && data !== null && 'tool_call_id' in data;
}

function isToolMessage(value: unknown): value is ToolMessage {
  return typeof value === 'object' && value !== null && 'tool_call_id' in value && 'toDict' in value;
}

function isCommand(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (value as { lg_name?: unknown }).lg_name === 'Command';
}
