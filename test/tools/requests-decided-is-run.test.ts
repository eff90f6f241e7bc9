import type { RequestListener } from 'node:http';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CapabilitySpec, type JsonObject, KernelError } from '../../src/index.js';
import { newStore, openKernel } from '../support/kernel.js';
import { runsInSweep, runsOnStore } from '../support/seeded.js';
import { approveAll, deepFreeze, hashOfPlain } from '../support/tools/decisions.js';
import { callTools } from '../support/tools/file-fixture.js';
import { type WebServer, webServer } from '../support/tools/web-server.js';

type Received = WebServer['requests'][number];

/** Headers of the connection, and those that a request has where its caller names no other. */
const ofConnection = ['host', 'connection', 'content-length'];
const defaults: Readonly<Record<string, string>> = {
  accept: '*/*',
  'accept-encoding': 'gzip, deflate, br',
  'user-agent': 'procura',
  'content-type': 'text/plain;charset=UTF-8',
};

const hosts = fc.constantFrom('127.0.0.1', '0x7f.1', '2130706433', '127.1', '0177.0.0.1', '127.0.0.1.', '１２７.0.0.1');
const pathPart = fc.oneof(
  fc.constantFrom(
    '..',
    '.',
    '%2e%2e',
    '%2E.',
    '..\\',
    '\t..',
    'a b',
    'ü',
    '%',
    '%zz',
    '%00',
    ';',
    '@',
    ':',
    '//',
    '[',
    '|',
  ),
  fc.constantFrom(
    '?',
    '#',
    '?#',
    '??',
    '?a=1#b',
    '%3f',
    '%23',
    '?%23',
    "'",
    '"',
    '<',
    '^',
    '`',
    '{',
    '\u202e',
    '\ud83d\ude00',
  ),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom('v1', 'admin', 'a'),
);
const urlPath = fc.array(pathPart, { maxLength: 5 }).map((parts) => `/${parts.join('/')}`);
const suffix = fc.constantFrom('', '?', '#', '?#', '?x', ' ', '\t', '\n', '/');
const place = fc
  .record({
    scheme: fc.constantFrom('http://', 'HTTP://', 'http:\\\\', ' http://', 'ht\ttp://'),
    host: hosts,
    urlPath,
    suffix,
  })
  .map(({ scheme, host, urlPath: path, suffix: end }) => `${scheme}${host}:PORT${path}${end}`);
/** `PORT` is the first server, `OTHER` the second. */
const location = fc.oneof(
  place,
  place.map((text) => text.replace('PORT', 'OTHER')),
  urlPath,
  urlPath.map((path) => path.slice(1)),
  fc.constantFrom(
    '//127.0.0.1:OTHER/x',
    '?',
    '?q',
    '#f',
    '',
    '..',
    '\\\\127.0.0.1:OTHER\\x',
    '/a?',
    'http:x',
    'http:/x?',
  ),
);
const headerName = fc.oneof(
  fc.constantFrom('X-Role', 'x-role', 'Authorization', 'Cookie', 'Accept', 'User-Agent', 'Content-Type', 'X-Api-Key'),
  fc.constantFrom('Host', 'Content-Length', 'Transfer-Encoding', 'constructor', 'toString', 'hasOwnProperty', 'toJSON'),
  fc.stringMatching(/^[a-zA-Z0-9!#$%&'*+.^_`|~-]{1,8}$/),
);
const headerValue = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    ' a',
    'a ',
    '\ta\t',
    'a, b',
    'é',
    'ÿ',
    'Bearer x',
    'a\r\nx-role: admin',
    '\u0100',
    'a\0b',
    ' é ',
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.string({ maxLength: 8 }),
);
const body = fc.oneof(
  fc.constantFrom('', 'x', 'é\u{1f600}', 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n', '0\r\n\r\n', '\0', '\ufeffx'),
  fc.string({ unit: 'binary', maxLength: 30 }),
);
const hostile = fc.record(
  {
    url: place,
    method: fc.constantFrom('GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'POST', 'PATCH', 'get', 'TRACE', 'POST /x'),
    headers: fc.dictionary(headerName, headerValue, { maxKeys: 4 }),
    body,
    maxBytes: fc.constantFrom(1, 1_000),
    timeoutMs: fc.constantFrom(29_000, 30_000),
  },
  { requiredKeys: ['url'] },
);
const runs = runsOnStore(runsInSweep(2_500));

const redirect = fc.record({ status: fc.constantFrom(301, 302, 303, 307, 308), location });

describe('the request that was decided on', () => {
  it('is the request that the server gets, redirects included', async () => {
    let redirects: { status: number; location: string }[] = [];
    const answer: RequestListener = (_request, response) => {
      const next = redirects.shift();
      if (next === undefined) response.end('reached');
      else response.writeHead(next.status, { location: next.location }).end();
    };
    const received: (Received & { port: number })[] = [];
    const servers = [await collecting(answer), await collecting(answer)] as const;
    const ports = servers.map(({ port }) => port);
    async function collecting(listener: RequestListener): Promise<WebServer> {
      const server: WebServer = await webServer((request, response) => {
        const last = server.requests.at(-1);
        if (last !== undefined) received.push({ ...last, port: server.port });
        listener(request, response);
      });
      return server;
    }
    const withPorts = (text: string) => text.replace('PORT', String(ports[0])).replace('OTHER', String(ports[1]));

    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false }, durability: 'normal' });
    const pid = await kernel.processes.spawn({
      capabilities: [
        callTools,
        ...ports.map((port): CapabilitySpec => ({ resource: `net:127.0.0.1/${port}`, rights: ['call'] })),
      ],
    });
    await kernel.capabilities.ask(pid, { resource: 'tool:http.fetch', rights: ['call'] });
    const approvals = approveAll(kernel, store);
    let sent = 0;

    await fc.assert(
      fc.asyncProperty(hostile, fc.array(redirect, { maxLength: 3 }), async (spec, hops) => {
        const args: JsonObject = { ...spec, url: withPorts(spec.url) };
        redirects = hops
          .map(({ status, location: text }) => ({ status, location: Buffer.from(withPorts(text)).toString('latin1') }))
          .filter(({ location: text }) => !/[^\t\x20-\x7e\x80-\xff]/.test(text));
        received.length = 0;
        const outcome = await kernel
          .as(pid)
          .tools.call('http.fetch', args)
          .then(
            () => 'sent',
            (error: unknown) => (error instanceof KernelError ? error.code : String(error)),
          );
        const decided = approvals.take();
        const requested = received.map((request) => hashOfPlain(deepFreeze(argsOf(request, args))));
        const hashes = decided.map(({ argsHash }) => argsHash);
        if (outcome === 'INVALID_INPUT') expect([decided, requested]).toEqual([[], []]);
        // The host of a redirect is decided on after its arguments.
        else if (outcome === 'CAPABILITY_DENIED') expect(requested).toEqual(hashes.slice(0, -1));
        else expect([outcome, requested]).toEqual([expect.stringMatching(/^(sent|TOOL_FAILED)$/), hashes]);
        sent += requested.length;
      }),
      { numRuns: runs },
    );
    expect(sent).toBeGreaterThan(runs / 4);
  }, 120_000);
});

/** The arguments with which one would send the request that a server has got. */
function argsOf(
  { method, path, headers, body: text, port }: Received & { port: number },
  given: JsonObject,
): JsonObject {
  const named = Object.keys((given.headers ?? {}) as JsonObject).map((name) => name.toLowerCase());
  const own = Object.entries(headers).filter(
    ([name, value]) => !ofConnection.includes(name) && (named.includes(name) || defaults[name] !== value),
  );
  expect(headers.host).toBe(`127.0.0.1:${port}`);
  return {
    url: `http://127.0.0.1:${port}${path}`,
    method,
    headers: Object.fromEntries(own) as JsonObject,
    ...(headers['content-length'] === undefined || (text === '' && given.body !== '') ? {} : { body: text }),
    maxBytes: given.maxBytes ?? 256 * 1024,
    timeoutMs: given.timeoutMs ?? 30_000,
  };
}
