import { controlCharacters } from '../../base/characters.js';
import { type InputError, invalidInput } from '../../base/errors.js';
import { canonicalHost, canonicalHostPattern } from './net-host.js';

/** The kinds of resources. One kind never covers another. */
export const resourceKinds = [
  'tool',
  'fs',
  'object',
  'ns',
  'process',
  'net',
  'secret',
  'image',
  'model',
  'command',
  'event',
] as const;

export type ResourceKind = (typeof resourceKinds)[number];

/** A set of resources, in canonical spelling. Made by `parsePattern` and `storedPattern` only. */
export interface Pattern {
  readonly form: 'pattern';
  readonly kind: ResourceKind;
  /** Literals and `*`; the host of a net pattern may also be `*.host`. */
  readonly segments: readonly string[];
  /** Ends in `**`: any number of further segments, also none. */
  readonly rest: boolean;
  readonly text: string;
}

/** One resource that somebody wants to use, in canonical spelling. Made by `parseRequest` and `everyRequest` only. */
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
  const parsed = parseAnyPattern(text);
  if (parsed.kind !== 'net' && parsed.segments.some((segment) => globs.test(segment))) {
    throw badResource(
      parsed.text,
      'has "?", brackets or braces',
      'Only "*" and a last "**" are wildcards; spell the rest.',
    );
  }
  return parsed;
}

/** The resource that `text` names. Throws INVALID_INPUT, also for a text that contains `*`. */
export function parseRequest(text: string): Request {
  const { kind, body, whole } = splitKind(text);
  if (body.includes('*')) throw badResource(whole, 'a request names one resource', 'Write the name without "*".');
  const segments = parseSegments(kind, body, whole, 'request');
  return { form: 'request', kind, segments, text: `${kind}:${segments.join('/') || '.'}` };
}

/** Two requests that together stand for every resource of a kind: only the pattern `KIND:**` matches both. */
export function everyRequest(kind: ResourceKind): readonly [Request, Request] {
  const text = `${kind}:**`;
  return [
    { form: 'request', kind, segments: ['*'], text },
    { form: 'request', kind, segments: ['*', '*'], text },
  ];
}

const storedMax = 10_000;
const stored = new Map<string, Pattern>();

/**
 * The pattern of a text that the kernel has stored itself, so it may be that of a request, which names a file with
 * brackets as it is. Parsed once, since the same few texts come again and again.
 */
export function storedPattern(text: string): Pattern {
  const known = stored.get(text);
  if (known !== undefined) return known;
  if (stored.size >= storedMax) stored.clear();
  const parsed = parseAnyPattern(text);
  stored.set(text, parsed);
  return parsed;
}

const globs = /[?[\]{}]/;

function parseAnyPattern(text: string): Pattern {
  const { kind, body, whole } = splitKind(text);
  const parts = parseSegments(kind, body, whole, 'pattern');
  const rest = parts.at(-1) === '**';
  const segments = rest ? parts.slice(0, -1) : parts;
  for (const segment of segments) checkPatternSegment(kind, segment, whole);
  if (kind === 'net') return toPattern(kind, segments, false);
  // Only fs has a resource without segments, so elsewhere `*/**` is another spelling of `**`.
  if (rest && kind !== 'fs' && segments.length === 1 && segments[0] === '*') return toPattern(kind, [], true);
  if (kind === 'ns') checkProcessNamespace(segments, rest, whole);
  return toPattern(kind, segments, rest);
}

function toPattern(kind: ResourceKind, segments: readonly string[], rest: boolean): Pattern {
  const isEveryHost = kind === 'net' && segments.every((segment) => segment === '*');
  const body = isEveryHost ? '**' : [...segments, ...(rest ? ['**'] : [])].join('/') || '.';
  return { form: 'pattern', kind, segments, rest, text: `${kind}:${body}` };
}

function checkPatternSegment(kind: ResourceKind, segment: string, whole: string): void {
  if (segment === '*' || kind === 'net' || !segment.includes('*')) return;
  throw badResource(
    whole,
    `${JSON.stringify(segment)} is not a wildcard`,
    'Use "*" for one whole segment, or "**" as the last one.',
  );
}

/** A process's own namespace is private: wildcards do not reach it, so a pattern that tries would match nothing. */
function checkProcessNamespace(segments: readonly string[], rest: boolean, whole: string): void {
  if (segments[0] !== 'process') return;
  const owner = segments[1];
  if (owner !== undefined ? owner !== '*' : !rest) return;
  throw badResource(whole, 'does not spell the process', 'Name it: "ns:process/PID/**".');
}

/** The kind, what follows it, and the whole text in its canonical spelling. */
function splitKind(text: string): { kind: ResourceKind; body: string; whole: string } {
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

function isResourceKind(text: string): text is ResourceKind {
  return (resourceKinds as readonly string[]).includes(text);
}

type Form = 'pattern' | 'request';

function parseSegments(kind: ResourceKind, body: string, whole: string, form: Form): readonly string[] {
  if (kind === 'fs') return parseFsSegments(body, whole, form);
  checkIdentifier(whole);
  if (kind === 'net') return parseNetSegments(body, whole, form);
  const segments = body.split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    throw badResource(whole, 'has an empty, "." or ".." segment', 'Name every segment, without a slash at either end.');
  }
  return segments;
}

const driveLetter = /^[A-Za-z]:/;
const relativeHint = 'Give a path relative to the workspace, such as "fs:src/main.ts"; the workspace itself is "fs:.".';

/**
 * The segments of a workspace-relative path; none for the workspace itself. `//`, `/./` and a last `/` vanish; `..` is
 * resolved in a request and refused in a pattern. Throws INVALID_INPUT for a path that leaves the workspace.
 */
function parseFsSegments(body: string, whole: string, form: Form): readonly string[] {
  if (body.startsWith('/')) throw badResource(whole, 'is an absolute path', relativeHint);
  if (body.includes('\\')) throw badResource(whole, 'has a backslash', 'Separate directories with "/".');
  if (driveLetter.test(body)) throw badResource(whole, 'has a drive letter', relativeHint);
  const segments: string[] = [];
  for (const part of body.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') {
      segments.push(part);
      continue;
    }
    if (form === 'pattern') throw badResource(whole, 'a pattern may not have ".."', 'Write the path without "..".');
    if (segments.pop() === undefined) throw badResource(whole, 'leaves the workspace', relativeHint);
  }
  if (driveLetter.test(segments[0] ?? '')) throw badResource(whole, 'has a drive letter', relativeHint);
  return segments;
}

/** The two segments of `net:HOST/PORT`. `**` after the host, or for both, stands for every port. */
function parseNetSegments(body: string, whole: string, form: Form): readonly string[] {
  if (form === 'pattern' && body === '**') return ['*', '*'];
  const slash = body.lastIndexOf('/');
  if (slash < 0) throw badResource(whole, 'has no port', `Write it as "net:${body}/443".`);
  return [parseHost(body.slice(0, slash), whole, form), parsePort(body.slice(slash + 1), whole, form)];
}

function parseHost(text: string, whole: string, form: Form): string {
  if (text.includes('@')) throw badResource(whole, 'has user information', 'Leave out what stands before "@".');
  const canonical = form === 'pattern' ? canonicalHostPattern(text) : canonicalHost(text);
  if (canonical !== undefined) return canonical;
  throw badResource(
    whole,
    `${JSON.stringify(text)} is not a host`,
    'Write "net:HOST/PORT", with an IPv6 address in brackets; "*.example.com" stands for every name below it.',
  );
}

function parsePort(text: string, whole: string, form: Form): string {
  if (form === 'pattern' && (text === '*' || text === '**')) return '*';
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65535) return text;
  throw badResource(
    whole,
    `${JSON.stringify(text)} is not a port`,
    'Give a number from 1 to 65535, without zeros before it.',
  );
}

const resourceBytesMax = 4096;
/** Plain ASCII has one spelling, which is what nearly every resource has. */
const printableAscii = /^[\x20-\x7e]*$/;

/**
 * The one spelling of a resource text: well-formed, bounded, without control characters, in NFC.
 * Throws INVALID_INPUT for any other text.
 */
function canonicalText(text: string): string {
  if (printableAscii.test(text) && text.length <= resourceBytesMax) return text;
  if (typeof text !== 'string') throw badResource('', 'is not a text', 'Write it as kind:name, such as "tool:search".');
  checkBytes(text);
  if (!text.isWellFormed()) throw badResource(text, 'has a lone surrogate', 'Give well-formed Unicode text.');
  if (controlCharacters.test(text)) {
    throw badResource(text, 'has control or bidi characters', 'Remove the characters that do not print.');
  }
  const canonical = text.normalize('NFC');
  checkBytes(canonical);
  return canonical;
}

function checkBytes(text: string): void {
  if (text.length <= resourceBytesMax && Buffer.byteLength(text) <= resourceBytesMax) return;
  throw badResource(text, `is longer than ${resourceBytesMax} bytes`, 'Use a shorter name.');
}

/** Refuses names that only look like another one: compatibility forms such as full-width letters and ligatures. */
function checkIdentifier(text: string): void {
  if (printableAscii.test(text)) return;
  const plain = text.normalize('NFKC');
  if (plain === text) return;
  throw badResource(text, 'has characters that are other forms of plain ones', `Write it as ${JSON.stringify(plain)}.`);
}

/** INVALID_INPUT about a resource; the text itself is a fact, bounded and well-formed. */
function badResource(text: string, problem: string, hint: string): InputError {
  return invalidInput('resource', problem, hint, { resource: text.slice(0, 200).toWellFormed() });
}

/** Whether `request` is one of the resources of `pattern`. Linear in the segments. */
export function matches(pattern: Pattern, request: Request): boolean {
  return includes(pattern, request, false);
}

/** Whether every request that `child` matches is matched by `parent`. Exact, so also transitive. */
export function covers(parent: Pattern, child: Pattern): boolean {
  return includes(parent, child, child.rest);
}

/** Whether there is a request that both match. */
export function overlaps(a: Pattern, b: Pattern): boolean {
  if (a.kind !== b.kind || namesProcess(a) !== namesProcess(b)) return false;
  const shared = Math.min(a.segments.length, b.segments.length);
  if (a.segments.length > shared && !b.rest) return false;
  if (b.segments.length > shared && !a.rest) return false;
  for (let index = 0; index < shared; index++) {
    const ofA = a.segments[index] ?? '';
    const ofB = b.segments[index] ?? '';
    // Two segments are nested or disjoint: literals, `*`, and suffixes of whole labels.
    if (!segmentCovers(ofA, ofB) && !segmentCovers(ofB, ofA)) return false;
  }
  return true;
}

function includes(parent: Pattern, child: Pattern | Request, childRest: boolean): boolean {
  if (parent.kind !== child.kind || namesProcess(parent) !== namesProcess(child)) return false;
  const length = parent.segments.length;
  if (parent.rest ? child.segments.length < length : child.segments.length !== length || childRest) return false;
  return parent.segments.every((segment, index) => segmentCovers(segment, child.segments[index] ?? ''));
}

/** Whether one segment of a pattern includes another one, or a name. */
export function segmentCovers(parent: string, child: string): boolean {
  if (parent === '*' || parent === child) return true;
  // `*.host`, which only the host of a net pattern can be: one or more labels before it, so never the apex.
  return parent.startsWith('*.') && child.endsWith(parent.slice(1));
}

/** Whether it is `ns:process/PID…`, which is matched only by a pattern that spells it. */
export function namesProcess(resource: Pattern | Request): boolean {
  return resource.kind === 'ns' && resource.segments.length > 1 && resource.segments[0] === 'process';
}
