import { z } from 'zod';
import { copyPlain, parseSpec, specLimits, timeLimitMs } from '../../base/spec.js';
import type { Effect, ToolInfo } from '../../kernel/face/process-tools.js';

/** A server of tools: a program that is started, or an address. */
export type McpTarget = McpProgram | McpEndpoint;

/** A program that speaks MCP through its pipes. It is a command process of the host, `mcp:SERVER` by name. */
export interface McpProgram extends McpOptions {
  /** The program. */
  readonly command: string;
  /** Its arguments. */
  readonly args?: readonly string[];
  /** Added to the clean environment of commands. Stored nowhere. */
  readonly env?: Readonly<Record<string, string>>;
  /** Absolute, or relative to the workspace; default: the workspace. */
  readonly cwd?: string;
}

/** A server that speaks MCP over streamable HTTP. */
export interface McpEndpoint extends McpOptions {
  /** The address of the server. */
  readonly url: string;
  /** Sent with every request. Stored nowhere. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface McpOptions {
  /** The effect class by the server's own names of its tools, instead of what the server annotates. */
  readonly effects?: Readonly<Record<string, Effect>>;
  /** The time within which its tools must be listed; default 30,000. */
  readonly connectTimeoutMs?: number;
}

/** A server whose tools are registered, until it is closed. */
export interface McpConnection extends AsyncDisposable {
  /** Its tools as they are now, by their names here: `mcp/SERVER/NAME`. */
  readonly tools: ToolInfo[];
  /** Takes its tools away and stops it, within 2 s. */
  close(): Promise<void>;
}

const effects = z
  .record(z.string(), z.enum(['pure', 'idempotent', 'once']))
  .default({})
  .transform((byName) => new Map(Object.entries(byName)));
const connectTimeoutMs = timeLimitMs.default(30_000);
const text = z
  .string()
  .max(128 * 1024)
  .refine((value) => !value.includes('\0'), 'has a NUL');

const program = z.strictObject({
  command: text.min(1),
  args: z.array(text).max(4_096).default([]),
  env: z.record(z.string().regex(/^[^=\0]+$/, 'is no name of a variable'), text).default({}),
  cwd: text.min(1).optional(),
  effects,
  connectTimeoutMs,
});

/** Refuses here what fetch would refuse with a message that repeats the value, which may be secret. */
const headers = z.record(
  z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/, 'is no name of a header'),
  z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'has characters that a header cannot have'),
);

const endpoint = z.strictObject({
  url: z.string().max(8_192).refine(isHttpUrl, 'is not an http or https address without a user name'),
  headers: headers.default({}),
  effects,
  connectTimeoutMs,
});

export type ParsedProgram = z.output<typeof program>;
export type ParsedEndpoint = z.output<typeof endpoint>;

export type ParsedTarget = ParsedProgram | ParsedEndpoint;

/** Throws INVALID_INPUT. */
export function parseMcpTarget(target: unknown, path = 'target'): ParsedTarget {
  const plain = copyPlain(target, path, specLimits);
  const hasUrl = typeof plain === 'object' && plain !== null && 'url' in plain;
  return hasUrl ? parseSpec(endpoint, plain, path) : parseSpec(program, plain, path);
}

const serverName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'is not a name: 1 to 64 letters, digits, _ and -');

/** Throws INVALID_INPUT. */
export function parseServerName(server: unknown, path = 'server'): string {
  return parseSpec(serverName, server, path);
}

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '';
}
