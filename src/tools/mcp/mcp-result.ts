import type { CallToolResult } from '@modelcontextprotocol/client';
import { KernelError, ToolError } from '../../base/errors.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { copyPlain, type PlainLimits } from '../../base/spec.js';

type Part = CallToolResult['content'][number];

const errorCharsMax = 4_096;

/**
 * The result of a call: the structured content if there is some, `{ text }` for a single text, otherwise `{ content }` with
 * all parts. Texts that are too long are cut, and parts that do not fit are left out and counted; structured content is
 * never cut, because it has to fit its schema. Texts beside structured content repeat it, and are left out. `isDeclared`:
 * the tool has an output schema. Throws TOOL_FAILED for a result that the server marks as an error, and for one that is
 * not JSON or too large.
 */
export function toToolResult(
  tool: string,
  result: CallToolResult,
  isDeclared: boolean,
  limits: PlainLimits,
): JsonValue {
  const { structuredContent, content, isError } = result;
  if (isError === true) throw serverReportedError(tool, content);
  if (structuredContent === undefined) return toPlain(tool, fitContent(content, limits.bytesMax), limits);
  const isComplete = isDeclared || content.every(({ type }) => type === 'text');
  return toPlain(tool, isComplete ? structuredContent : { structuredContent, content }, limits);
}

function fitContent(content: readonly Part[], bytesMax: number): unknown {
  const [first] = content;
  const isText = content.length === 1 && first?.type === 'text';
  const whole = isText ? { text: first.text.toWellFormed() } : { content: content.map(toWellFormed) };
  const bytes = bytesOf(whole);
  if (bytes <= bytesMax) return whole;
  const room = bytesMax - 256;
  if (isText) return { text: truncate(first.text, room), truncated: true, bytes };
  return { ...fitParts(content.map(toWellFormed), room), truncated: true, bytes };
}

/** As many parts as fit into `room` bytes; the first text that does not fit is cut. */
function fitParts(content: readonly Part[], room: number): { content: Part[]; omitted: number } {
  const parts: Part[] = [];
  let bytesLeft = room;
  let hasCutText = false;
  for (const part of content) {
    const whole = bytesOf(part) + 1;
    const fits = whole <= bytesLeft;
    if (!fits && (hasCutText || part.type !== 'text')) continue;
    hasCutText ||= !fits;
    const fittingPart = fits || part.type !== 'text' ? part : { ...part, text: truncate(part.text, bytesLeft - 256) };
    bytesLeft -= bytesOf(fittingPart) + 1;
    parts.push(fittingPart);
  }
  return { content: parts, omitted: content.length - parts.length };
}

function toWellFormed(part: Part): Part {
  return part.type === 'text' ? { ...part, text: part.text.toWellFormed() } : part;
}

/** The beginning of a text, at most `bytesMax` bytes as JSON, cut between characters. */
function truncate(text: string, bytesMax: number): string {
  let end = Math.max(0, Math.min(text.length, bytesMax));
  while (end > 0 && bytesOf(text.slice(0, end)) > bytesMax) end = Math.floor(end * 0.9);
  const head = text.slice(0, end);
  return (/[\ud800-\udbff]$/.test(head) ? head.slice(0, -1) : head).toWellFormed();
}

function toPlain(tool: string, value: unknown, limits: PlainLimits): JsonValue {
  try {
    return copyPlain(value, 'result', limits);
  } catch (error) {
    if (error instanceof KernelError) throw unusableResult(tool, error);
    throw error;
  }
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function serverReportedError(tool: string, content: readonly Part[]): ToolError {
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const text = texts.join('\n').slice(0, errorCharsMax).toWellFormed();
  return new ToolError('TOOL_FAILED', `Tool ${tool} failed: ${text.slice(0, 300).toWellFormed()}`, {
    facts: { tool, reason: 'tool_error', text },
    hint: 'The server has carried the call out and says that it failed: see the text.',
  });
}

function unusableResult(tool: string, error: KernelError): ToolError {
  const facts: JsonObject = { tool, reason: 'bad_result', ...error.facts };
  return new ToolError('TOOL_FAILED', `Tool ${tool} gave back what cannot be a result: ${error.message}`, {
    facts,
    hint: 'The call was carried out; ask for less at a time if it is too large.',
    cause: error,
  });
}
