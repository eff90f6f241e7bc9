import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { untilAborted } from '../../base/until-aborted.js';
import type { Effect } from '../../kernel/face/process-tools.js';
import { type AddressLookup, checkedAddresses, systemLookup } from '../http/checked-addresses.js';
import { type Hop, nextHop } from '../http/hop.js';
import { asRequestError, requestFailed, requestTimeout } from '../http/http-errors.js';
import { type NetTarget, netTarget } from '../http/net-target.js';
import { headersProblem, requestHeaders } from '../http/request-headers.js';
import { readBody } from '../http/response-body.js';
import { sendRequest } from '../http/send-request.js';
import { shownRequest } from '../http/shown-request.js';
import { defineTool, type Tool, type ToolContext } from '../tool.js';

const timeoutMsMax = 30_000;
const bodyBytesMax = 512 * 1024;
const sentBytesMax = 1024 * 1024;
const redirectsMax = 5;

const effects = {
  GET: 'pure',
  HEAD: 'pure',
  OPTIONS: 'pure',
  PUT: 'idempotent',
  DELETE: 'idempotent',
  POST: 'once',
  PATCH: 'once',
} as const satisfies Record<string, Effect>;

const url = z.string().superRefine((text, { addIssue }) => {
  const target = netTarget(text);
  if (typeof target === 'string') addIssue(target);
});
const headers = z.record(z.string(), z.string()).superRefine((given, { addIssue }) => {
  const problem = headersProblem(given);
  if (problem !== undefined) addIssue(problem);
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
type Answer = z.output<typeof output>;

export interface HttpFetchOptions {
  /** Finds the addresses of a name; default: as the system does. */
  readonly lookup?: AddressLookup;
}

/** Sends a request and gives the answer. Every name, and every address that it stands for, is checked at every hop. */
export function httpFetch({ lookup = systemLookup }: HttpFetchOptions = {}): Tool {
  return defineTool<Args, Answer>({
    name: 'http.fetch',
    description:
      'Sends an HTTP request and gives status, headers and body. ' +
      `Redirects are followed, at most ${redirectsMax}; an answer such as 404 is a result, not a failure.`,
    input,
    output,
    effect: 'once',
    effectOf: ({ method }) => effects[method],
    resources: (args) => [{ right: 'call', resource: targetOf(args).resource, args: { method: args.method } }],
    shown: (args) => shownRequest(args.url, args.method, args.headers, args.body),
    timeoutMs: timeoutMsMax,
    run: async (args, context) => {
      const { timeoutMs, maxBytes } = args;
      const late = AbortSignal.timeout(timeoutMs);
      const signal = AbortSignal.any([context.signal, late]);
      const first = firstHop(args);
      try {
        const { hop, response } = await followed(context, first, lookup, signal);
        return await answerOf(hop, response, maxBytes);
      } catch (error) {
        context.signal.throwIfAborted();
        throw late.aborted ? requestTimeout(first.target.url, timeoutMs) : asRequestError(first.target.url, error);
      }
    },
  });
}

function firstHop(args: Args): Hop {
  const { method, body } = args;
  const sent = { target: targetOf(args), method, headers: requestHeaders(args.headers, body !== undefined) };
  return body === undefined ? sent : { ...sent, body };
}

/** The schema has refused what is none. */
function targetOf(args: Args): NetTarget {
  const target = netTarget(args.url);
  if (typeof target === 'string') throw new TypeError(`the URL ${target}`);
  return target;
}

/** Goes from redirect to redirect until there is an answer. The right to call the first was checked with the call itself. */
async function followed(
  context: ToolContext,
  first: Hop,
  lookup: AddressLookup,
  signal: AbortSignal,
): Promise<{ hop: Hop; response: IncomingMessage }> {
  let hop = first;
  for (let redirects = 0; ; redirects++) {
    const { target, method } = hop;
    if (redirects > 0) await context.require('call', target.resource, { method });
    const addresses = await untilAborted(signal, checkedAddresses(context, target, method, lookup));
    const response = await sendRequest(hop, addresses, signal);
    const next = nextHop(hop, response.statusCode ?? 0, response.headers.location);
    if (next === undefined) return { hop, response };
    response.destroy();
    if (typeof next === 'string') throw requestFailed(target.url, next);
    if (redirects === redirectsMax) throw requestFailed(target.url, `there are more than ${redirectsMax} redirects`);
    hop = next;
  }
}

async function answerOf({ target, method }: Hop, response: IncomingMessage, maxBytes: number): Promise<Answer> {
  const { content, encoding, truncated } = await readBody(response, method, maxBytes);
  const named = Object.entries(response.headersDistinct)
    .filter(([name]) => name !== '__proto__')
    .map(([name, values = []]) => [name, values.length > 1 ? values : (values[0] ?? '')]);
  return {
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(named),
    body: content,
    encoding,
    url: target.url.href,
    truncated,
  };
}
