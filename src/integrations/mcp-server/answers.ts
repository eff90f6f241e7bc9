import type { CallToolResult } from '@modelcontextprotocol/server';
import { type JsonObject, type JsonValue, KernelError } from '../../index.js';

const factsMax = 2_000;
const messageMax = 2_000;

/** The answer of a call, for a model to read and for a program to take apart. */
export function toAnswer(value: unknown): CallToolResult {
  const plain = JSON.parse(JSON.stringify(value ?? null)) as JsonValue;
  const text = typeof plain === 'string' ? plain : JSON.stringify(plain);
  return { content: [{ type: 'text', text }], ...(isObject(plain) ? { structuredContent: plain } : {}) };
}

/** Whether a call was not made because the process is paused. */
export function isStillPaused(error: unknown): boolean {
  return error instanceof KernelError && error.code === 'WAIT_TIMEOUT' && error.facts.paused === true;
}

/** No refusal: the same call goes on when the process is resumed. */
export function toPausedAnswer(call: string): CallToolResult {
  const note = `Your process is paused, so that ${call} was not done: nothing has happened. Call it again later.`;
  return toAnswer({ paused: true, note });
}

/** A refusal: what happened, what was missing, what to do. No error of the protocol: whoever called can go on. */
export function toRefusal(error: unknown): CallToolResult {
  const told = error instanceof KernelError ? error : internalError(error);
  const { code, message, facts, hint, retryable } = told;
  const lines = [
    `${code}: ${message.slice(0, messageMax).toWellFormed()}`,
    ...(isAuthority(told) ? missingAuthority(facts) : factLine(facts)),
    ...(hint === '' ? [] : [`hint: ${hint}`]),
    ...(isAuthority(told) ? requestHint(facts) : []),
    ...(retryable ? ['The same call may succeed later.'] : []),
  ];
  return {
    isError: true,
    content: [{ type: 'text', text: lines.join('\n') }],
    structuredContent: { error: { code, message, facts, hint, retryable } },
  };
}

/** Not the caller's mistake; what is known about it is in the log of the server. */
function internalError(error: unknown): KernelError {
  return new KernelError('INTERNAL', error instanceof Error ? error.message : String(error), {
    hint: 'This is a fault of the server. Try something else, or tell whoever runs it.',
  });
}

function isAuthority({ code, facts }: KernelError): boolean {
  return code.startsWith('CAPABILITY_') && typeof facts.right === 'string' && typeof facts.resource === 'string';
}

function missingAuthority({ right, resource, code, nearest }: JsonObject): string[] {
  const near = Array.isArray(nearest) ? nearest.slice(0, 3) : [];
  return [
    `missing: ${right} on ${resource}${code === undefined ? '' : ` (${code})`}`,
    ...near.map((miss) =>
      isObject(miss) ? `near: ${miss.capability} on ${miss.pattern} fails at ${miss.failed}` : '',
    ),
  ];
}

/** A rule cannot be asked away. */
function requestHint({ right, resource, code }: JsonObject): string[] {
  if (code === 'DENY_RULE' || code === 'BAD_REQUEST') return [];
  return [`or ask a person: request_capability ${JSON.stringify({ resource, rights: [right] })}`];
}

function factLine(facts: JsonObject): string[] {
  const text = JSON.stringify(facts);
  if (text === '{}') return [];
  return [`facts: ${text.length > factsMax ? `${text.slice(0, factsMax).toWellFormed()}…` : text}`];
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
