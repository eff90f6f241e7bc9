import type { KernelError } from '../../base/errors.js';
import { fsSegments } from './fs-resource.js';
import { netSegments } from './net-resource.js';
import { isResourceKind, type ResourceKind, resourceKinds } from './resource-kind.js';
import { badResource, canonicalText, checkIdentifier } from './resource-text.js';

/** A set of resources, in canonical spelling. Made by `parsePattern` and `readPattern` only. */
export interface Pattern {
  readonly form: 'pattern';
  readonly kind: ResourceKind;
  /** Literals and `*`; the host of a net pattern may also be `*.host`. */
  readonly segments: readonly string[];
  /** Ends in `**`: any number of further segments, also none. */
  readonly rest: boolean;
  readonly text: string;
}

/** One resource that somebody wants to use, in canonical spelling. Made by `parseRequest` only. */
export interface Request {
  readonly form: 'request';
  readonly kind: ResourceKind;
  readonly segments: readonly string[];
  readonly text: string;
}

/**
 * The set of resources that `text` describes. Throws INVALID_INPUT.
 *
 * @example parsePattern('fs:./src//**').text === 'fs:src/**'
 */
export function parsePattern(text: string): Pattern {
  const parsed = readPattern(text);
  if (parsed.kind !== 'net' && parsed.segments.some((segment) => globs.test(segment))) throw notWildcards(parsed.text);
  return parsed;
}

/**
 * As `parsePattern`, for a text that the kernel has stored itself: it may be that of a request, which names a file with
 * brackets as it is.
 */
export function readPattern(text: string): Pattern {
  const { kind, body, whole } = split(text);
  const parts = segmentsOf(kind, body, whole, 'pattern');
  const last = parts.at(-1);
  const rest = last === '**';
  const segments = rest ? parts.slice(0, -1) : parts;
  for (const segment of segments) checkPatternSegment(kind, segment, whole);
  if (kind === 'net') return pattern(kind, segments, false);
  // Only fs has a resource without segments, so elsewhere `*/**` is another spelling of `**`.
  if (rest && kind !== 'fs' && segments.length === 1 && segments[0] === '*') return pattern(kind, [], true);
  if (kind === 'ns') checkProcessNamespace(segments, rest, whole);
  return pattern(kind, segments, rest);
}

/** The resource that `text` names. Throws INVALID_INPUT, also for a text that contains `*`. */
export function parseRequest(text: string): Request {
  const { kind, body, whole } = split(text);
  if (body.includes('*')) throw badResource(whole, 'a request names one resource', 'Write the name without "*".');
  const segments = segmentsOf(kind, body, whole, 'request');
  return { form: 'request', kind, segments, text: `${kind}:${segments.join('/') || '.'}` };
}

/** The canonical text of a pattern; `parsePattern` gives the same pattern back. */
export function formatPattern(pattern: Pattern): string {
  return pattern.text;
}

function pattern(kind: ResourceKind, segments: readonly string[], rest: boolean): Pattern {
  const everyHost = kind === 'net' && segments.every((segment) => segment === '*');
  const body = everyHost ? '**' : [...segments, ...(rest ? ['**'] : [])].join('/') || '.';
  return { form: 'pattern', kind, segments, rest, text: `${kind}:${body}` };
}

function split(text: string): { kind: ResourceKind; body: string; whole: string } {
  const whole = canonicalText(text);
  const colon = whole.indexOf(':');
  const kind = colon < 0 ? '' : whole.slice(0, colon);
  if (!isResourceKind(kind)) {
    throw badResource(whole, 'does not start with a known kind', `Start with one of: ${resourceKinds.join(', ')}.`);
  }
  const body = whole.slice(colon + 1);
  if (body === '') throw badResource(whole, 'names nothing', `Write what follows "${kind}:".`);
  return { kind, body, whole };
}

function segmentsOf(kind: ResourceKind, body: string, whole: string, form: 'pattern' | 'request'): readonly string[] {
  if (kind === 'fs') return fsSegments(body, whole, form);
  checkIdentifier(whole);
  if (kind === 'net') return netSegments(body, whole, form);
  const segments = body.split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    throw badResource(whole, 'has an empty, "." or ".." segment', 'Name every segment, without a slash at either end.');
  }
  return segments;
}

const globs = /[?[\]{}]/;

function checkPatternSegment(kind: ResourceKind, segment: string, whole: string): void {
  if (segment === '*' || kind === 'net') return;
  if (segment.includes('*')) {
    throw badResource(
      whole,
      `${JSON.stringify(segment)} is not a wildcard`,
      'Use "*" for one whole segment, or "**" as the last one.',
    );
  }
}

function notWildcards(whole: string): KernelError {
  return badResource(whole, 'has "?", brackets or braces', 'Only "*" and a last "**" are wildcards; spell the rest.');
}

/** A process's own namespace is private: wildcards do not reach it, so a pattern that tries would match nothing. */
function checkProcessNamespace(segments: readonly string[], rest: boolean, whole: string): void {
  if (segments[0] !== 'process') return;
  const owner = segments[1];
  if (owner !== undefined ? owner !== '*' : !rest) return;
  throw badResource(whole, 'does not spell the process', 'Name it: "ns:process/PID/**".');
}
