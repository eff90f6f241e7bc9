import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { errorText, KernelError, ToolError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import { untilAborted } from '../../base/until-aborted.js';
import type { Effect } from '../../kernel/face/process-tools.js';
import { type Hop, nextHop } from '../http/hop.js';
import { type NetTarget, netTarget } from '../http/net-target.js';
import { hiddenMark, isSecret, redactUrl, redactUrlsIn } from '../http/redact-url.js';
import { canonicalHeaders, type Headers, headersProblem, requestHeaders } from '../http/request-headers.js';
import { type AddressLookup, resolveAddresses, systemLookup } from '../http/resolve-addresses.js';
import { readBody } from '../http/response-body.js';
import { sendRequest } from '../http/send-request.js';
import { defineTool, type Tool, type ToolContext } from '../tool.js';

const timeoutMsMax = 30_000;
const bodyBytesMax = 512 * 1024;
const sentBytesMax = 1024 * 1024;
const redirectsMax = 5;
/** The headers of a response that hold URLs. */
const urlHeaders = new Set(['location', 'content-location', 'link', 'refresh']);

const effects = {
  GET: 'pure',
  HEAD: 'pure',
  OPTIONS: 'pure',
  PUT: 'idempotent',
  DELETE: 'idempotent',
  POST: 'once',
  PATCH: 'once',
} as const satisfies Record<string, Effect>;

/** Gives the URL in its canonical spelling: constraints are compared with what is requested. */
const url = z.string().transform((text, { addIssue }) => {
  const target = netTarget(text);
  if (typeof target !== 'string') return target.url.href;
  addIssue(target);
  return z.NEVER;
});
const headers = z.record(z.string(), z.string()).transform((record, { addIssue }) => {
  const problem = headersProblem(record);
  if (problem === undefined) return canonicalHeaders(record);
  addIssue(problem);
  return z.NEVER;
});

const input = z
  .strictObject({
    url: url.describe('An absolute http or https URL, without a user name.'),
    method: z.enum(Object.keys(effects) as [keyof typeof effects]).default('GET'),
    headers: headers.default({}),
    body: z
      .string()
      .max(sentBytesMax)
      .optional()
      .describe('Text to send, not with GET and HEAD. Say in a header what it is, such as "content-type".'),
    timeoutMs: z.number().int().min(1).max(timeoutMsMax).default(timeoutMsMax),
    maxBytes: z
      .number()
      .int()
      .min(1)
      .max(bodyBytesMax)
      .default(256 * 1024)
      .describe('How much of the body to read; the rest is left out.'),
  })
  .refine(({ method, body }) => body === undefined || (method !== 'GET' && method !== 'HEAD'), {
    message: 'is not sent with this method',
    path: ['body'],
  });

const output = z.strictObject({
  status: z.number().int(),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  body: z.string(),
  encoding: z.enum(['utf8', 'base64']).describe('Of the body: base64 for what is not UTF-8 text.'),
  url: z.string().describe('Where the answer came from, after redirects.'),
  truncated: z.boolean().describe('Whether the body is longer.'),
});

type Args = z.output<typeof input>;
type Result = z.output<typeof output>;

export interface HttpFetchOptions {
  /** Finds the addresses of a host name; default: the lookup of the system. */
  readonly lookup?: AddressLookup;
}

/** Sends a request and gives the response. Every host name, and every address that it resolves to, is checked at every hop. */
export function httpFetch({ lookup = systemLookup }: HttpFetchOptions = {}): Tool {
  return defineTool({
    name: 'http.fetch',
    description:
      'Sends an HTTP request and gives status, headers and body. ' +
      `Redirects are followed, at most ${redirectsMax}; an answer such as 404 is a result, not a failure.`,
    input,
    output,
    effect: 'once',
    effectOf: ({ method }) => effects[method],
    resources: (args) => [{ right: 'call', resource: targetOf(args).resource, args: { method: args.method } }],
    shown: (args) => redactRequest(args.url, args.method, args.headers, args.body),
    timeoutMs: timeoutMsMax,
    run: async (args, context) => {
      const { timeoutMs, maxBytes } = args;
      const timeout = AbortSignal.timeout(timeoutMs);
      const signal = AbortSignal.any([context.signal, timeout]);
      const first = firstHop(args);
      try {
        const { hop, response } = await followRedirects(context, args, first, lookup, signal);
        return await toResult(hop, response, maxBytes);
      } catch (error) {
        context.signal.throwIfAborted();
        throw timeout.aborted ? requestTimeout(first.target.url, timeoutMs) : toRequestError(first.target.url, error);
      }
    },
  });
}

function firstHop(args: Args): Hop {
  const { method, body } = args;
  const hop = { target: targetOf(args), method, headers: requestHeaders(args.headers, body !== undefined) };
  return body === undefined ? hop : { ...hop, body };
}

/** The schema has refused every other URL. */
function targetOf(args: Args): NetTarget {
  const target = netTarget(args.url);
  if (typeof target === 'string') throw new TypeError(`the URL ${target}`);
  return target;
}

/**
 * Follows redirects to the final response. The first request was decided on with the tool call; each further one is decided on
 * as a call of the tool with its arguments, before it is sent.
 */
async function followRedirects(
  context: ToolContext,
  args: Args,
  first: Hop,
  lookup: AddressLookup,
  signal: AbortSignal,
): Promise<{ hop: Hop; response: IncomingMessage }> {
  let hop = first;
  for (let redirects = 0; ; redirects++) {
    const { target, method } = hop;
    if (redirects > 0) {
      await untilAborted(signal, context.requireArgs(redirectedArgs(args, hop)));
      await context.require('call', target.resource, { method });
    }
    const addresses = await untilAborted(signal, resolveAddresses(context, target, method, lookup));
    const response = await sendRequest(hop, addresses, signal);
    const next = nextHop(hop, response.statusCode ?? 0, response.headers.location);
    if (next === undefined) return { hop, response };
    response.destroy();
    if (typeof next === 'string') throw requestFailed(target.url, next);
    if (redirects === redirectsMax) throw requestFailed(target.url, `there are more than ${redirectsMax} redirects`);
    hop = next;
  }
}

/** The arguments with which a process would send the request of a redirect itself. */
function redirectedArgs({ body: _body, ...args }: Args, { target, method, headers, body }: Hop): JsonObject {
  const kept = Object.entries(args.headers).filter(([name]) => Object.hasOwn(headers, name));
  return {
    ...args,
    url: target.url.href,
    method,
    headers: Object.fromEntries(kept),
    ...(body === undefined ? {} : { body }),
  };
}

async function toResult({ target, method }: Hop, response: IncomingMessage, maxBytes: number): Promise<Result> {
  const { content, encoding, truncated } = await readBody(response, method, maxBytes);
  const headers = Object.entries(response.headersDistinct)
    .filter(([name]) => name !== '__proto__')
    .map(([name, values = []]) => {
      const shown = urlHeaders.has(name) ? values.map(redactUrlsIn) : values;
      return [name, shown.length > 1 ? shown : (shown[0] ?? '')];
    });
  return {
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(headers),
    body: content,
    encoding,
    url: redactUrl(target.url.href),
    truncated,
  };
}

/** The request as it is recorded: without secrets, and of the body only the length. */
function redactRequest(url: string, method: string, headers: Headers, body: string | undefined): JsonObject {
  const redacted = Object.entries(headers).map(([name, value]) => [name, isSecret(name, value) ? hiddenMark : value]);
  return {
    url: redactUrl(url),
    method,
    headers: Object.fromEntries(redacted),
    ...(body === undefined ? {} : { bodyBytes: Buffer.byteLength(body) }),
  };
}

function shownPlace(url: URL): string {
  return redactUrl(`${url.origin}${url.pathname}`).slice(0, 500);
}

function requestFailed(url: URL, problem: string, cause?: unknown): ToolError {
  const reason = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined;
  const where = shownPlace(url);
  return new ToolError('TOOL_FAILED', `The request to ${where} failed: ${problem}.`, {
    facts: { url: where, problem, ...(typeof reason === 'string' ? { reason } : {}) },
    hint: 'See the problem; the other side may have got the request all the same.',
    cause,
  });
}

/** Kernel errors stay as they are. */
function toRequestError(url: URL, error: unknown): KernelError {
  if (error instanceof KernelError) return error;
  return requestFailed(url, errorText(error).slice(0, 300).toWellFormed(), error);
}

function requestTimeout(url: URL, timeoutMs: number): ToolError {
  const where = shownPlace(url);
  return new ToolError('TOOL_TIMEOUT', `The request to ${where} took longer than ${timeoutMs} ms.`, {
    facts: { url: where, timeoutMs },
    hint: 'Give it more time with timeoutMs; the other side may have got the request all the same.',
    retryable: true,
  });
}
