import type { RequestListener } from 'node:http';
import { createServer } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CapabilitySpec, JsonObject, Kernel, Pid } from '../../src/index.js';
import { httpFetch } from '../../src/tools/builtin/http-fetch.js';
import { nextHop } from '../../src/tools/http/hop.js';
import { netTarget } from '../../src/tools/http/net-target.js';
import { eventually } from '../support/eventually.js';
import { openKernel, refusal } from '../support/kernel.js';
import { findInconsistencies } from '../support/store-consistency.js';
import { callTools, registerMissing } from '../support/tools/file-fixture.js';
import { secureServer, type WebServer, webServer } from '../support/tools/web-server.js';

const denied = { code: 'CAPABILITY_DENIED' };
const failed = { code: 'TOOL_FAILED' };

describe('http.fetch', () => {
  it('gives the answer of a host that the process may call', async () => {
    const server = await webServer((_, response) => response.setHeader('x-kind', 'test').end('hello wörld'));
    const { kernel, pid, fetch } = await fetching(server);
    expect(await fetch({ url: server.urlOf('/page?q=1#part') })).toEqual({
      status: 200,
      headers: expect.objectContaining({ 'x-kind': 'test', 'content-length': '12' }),
      body: 'hello wörld',
      encoding: 'utf8',
      url: server.urlOf('/page?q=1'),
      truncated: false,
    });
    expect(server.requests).toMatchObject([{ method: 'GET', path: '/page?q=1', body: '' }]);
    expect((await kernel.processes.budget(pid)).toolCalls.used).toBe(1);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('is refused for a host and for a port that the process may not call, and nothing is sent', async () => {
    const [own, other] = [await webServer(hello), await webServer(hello)];
    const { fetch } = await fetching(own);
    for (const url of [other.urlOf('/'), own.urlOf('/', 'localhost'), own.urlOf('/', '127.0.0.2')]) {
      expect([url, await refusal(fetch({ url }))]).toMatchObject([url, { ...denied, facts: { right: 'call' } }]);
    }
    expect([own.requests, other.requests]).toEqual([[], []]);
  });

  it('sends method, headers and body, and gives an answer that is not 200 as a result', async () => {
    const server = await webServer((_, response) => response.writeHead(404, { 'set-cookie': ['a=1', 'b=2'] }).end());
    const { fetch } = await fetching(server);
    const headers = { 'Content-Type': 'application/json', 'X-One': '1' };
    expect(await fetch({ url: server.urlOf('/'), method: 'POST', headers, body: '{"ä":1}' })).toMatchObject({
      status: 404,
      headers: { 'set-cookie': ['a=1', 'b=2'] },
      body: '',
    });
    expect(server.requests).toMatchObject([
      { method: 'POST', body: '{"ä":1}', headers: { 'content-type': 'application/json', 'x-one': '1' } },
    ]);
    expect(server.requests[0]?.headers).toMatchObject({ 'content-length': '8', host: `127.0.0.1:${server.port}` });
  });

  it.each(['DELETE', 'OPTIONS', 'PUT'])(
    'sends the body of %s with its length, so that it is no other request',
    async (method) => {
      const server = await webServer(hello);
      const { fetch } = await fetching(server);
      const body = 'GET /other HTTP/1.1\r\nHost: x\r\n\r\n';
      await fetch({ url: server.urlOf('/own?'), method, headers: { 'X-Name': ' é\t' }, body });
      expect(server.requests).toMatchObject([
        { method, path: '/own?', body, headers: { 'content-length': String(body.length), 'x-name': 'é' } },
      ]);
    },
  );

  it('can be limited to methods by a constraint on the host', async () => {
    const server = await webServer(hello);
    const constraints = { method: { in: ['GET', 'HEAD'] } };
    const { fetch } = await fetching(server, [{ ...toCall(server), constraints }]);
    expect(await fetch({ url: server.urlOf('/') })).toMatchObject({ status: 200 });
    expect(await refusal(fetch({ url: server.urlOf('/'), method: 'POST', body: '' }))).toMatchObject({
      ...denied,
      facts: { code: 'CONSTRAINT' },
    });
    expect(server.requests).toHaveLength(1);
  });

  it('records the request without its secrets, and whether it may be repeated', async () => {
    const server = await webServer(hello);
    const { kernel, fetch } = await fetching(server);
    const headers = { authorization: 'Bearer abc123', accept: 'text/plain' };
    for (const method of ['GET', 'PUT', 'POST'])
      await fetch({ url: server.urlOf('/x?api_key=abc123&q=1'), method, headers });
    const { items } = await kernel.audit.list({ action: 'tool.call' });
    expect(JSON.stringify(items)).not.toContain('abc123');
    const intents = items.filter(({ outcome }) => outcome === 'intent').map(({ payload }) => payload?.args);
    expect(intents[0]).toEqual({
      url: server.urlOf('/x?api_key=%5Bhidden%5D&q=1'),
      method: 'GET',
      headers: { authorization: '[hidden]', accept: 'text/plain' },
    });
    const tool = httpFetch();
    const effects = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'POST', 'PATCH'].map((method) =>
      tool.effectOf?.({ method } as never),
    );
    expect(effects).toEqual(['pure', 'pure', 'pure', 'idempotent', 'idempotent', 'once', 'once']);
  });

  it('refuses what is no URL of a host', async () => {
    const { fetch } = await fetching(undefined, [everyHost]);
    const bad = [
      'file:///etc/passwd',
      'ftp://127.0.0.1/',
      'http://user@127.0.0.1/',
      'http://user:secret@127.0.0.1/',
      'http://',
      '//127.0.0.1/',
      'http://127.0.0.1:0/',
      'http://127.0.0.1:99999/',
      'http://a..b/',
      'http://*/',
      `http://127.0.0.1/${'x'.repeat(9_000)}`,
      'javascript:alert(1)',
      'unix:/tmp/socket',
      '',
    ];
    for (const url of bad) {
      const refused = await refusal(fetch({ url }));
      expect([url, refused]).toMatchObject([url, { code: 'INVALID_INPUT', facts: { path: 'args.url' } }]);
    }
  });

  it('knows an address in all its spellings', async () => {
    const server = await webServer(hello);
    const { kernel, pid, fetch } = await fetching(server);
    for (const host of ['127.1', '0x7f000001', '2130706433', '0177.0.0.1', '[::ffff:127.0.0.1]', '127.0.0.1.']) {
      expect([host, await fetch({ url: server.urlOf('/', host) })]).toMatchObject([host, { url: server.urlOf('/') }]);
    }
    await kernel.capabilities.deny(pid, { resource: `net:127.0.0.1/${server.port}`, rights: ['call'] });
    for (const host of ['127.1', '[::ffff:7f00:1]']) {
      expect(await refusal(fetch({ url: server.urlOf('/', host) }))).toMatchObject(denied);
    }
    expect(server.requests).toHaveLength(6);
  });

  it('refuses headers that would change the connection or carry others, and bodies where there are none', async () => {
    const server = await webServer(hello);
    const { fetch } = await fetching(server);
    const bad: JsonObject[] = [
      { 'x-a': 'b\r\nx-injected: 1' },
      { 'x-a': 'b\nc' },
      { 'x-a': 'a\0b' },
      { 'x-a\r\nx-injected': '1' },
      { 'x a': '1' },
      { '': '1' },
      { 'x-a': '\u0100' },
      { Host: 'other' },
      { connection: 'close' },
      { 'Transfer-Encoding': 'chunked' },
      { 'content-length': '5' },
      { upgrade: 'websocket' },
      { te: 'trailers' },
      { 'x-a': '1', 'X-A': '2' },
      { 'x-a': 'x'.repeat(20_000) },
      { 'x-a': 5 },
    ];
    for (const headers of bad) {
      const refused = await refusal(fetch({ url: server.urlOf('/'), headers }));
      expect([headers, refused]).toMatchObject([headers, { code: 'INVALID_INPUT' }]);
    }
    for (const args of [{ body: 'x' }, { method: 'HEAD', body: 'x' }, { method: 'CONNECT' }, { timeoutMs: 0 }]) {
      const refused = await refusal(fetch({ url: server.urlOf('/'), ...args }));
      expect([args, refused]).toMatchObject([args, { code: 'INVALID_INPUT' }]);
    }
    expect(server.requests).toEqual([]);
  });

  it('says what went wrong when there is no answer', async () => {
    const [closing, garbage, heavy] = [
      await webServer((request) => request.socket.destroy()),
      await rawServer('SSH-2.0-OpenSSH\r\n'),
      await webServer((_, response) => response.setHeader('x-long', 'x'.repeat(15_000)).end()),
    ];
    const { fetch } = await fetching(undefined, [everyHost]);
    const port = await freePort();
    expect(await refusal(fetch({ url: `http://127.0.0.1:${port}/` }))).toMatchObject({
      ...failed,
      facts: { reason: 'ECONNREFUSED', url: `http://127.0.0.1:${port}/` },
    });
    expect(await refusal(fetch({ url: closing.urlOf('/') }))).toMatchObject(failed);
    expect(await refusal(fetch({ url: `http://127.0.0.1:${garbage}/` }))).toMatchObject(failed);
    expect(await fetch({ url: heavy.urlOf('/') })).toMatchObject({ status: 200 });
    const tooHeavy = await webServer((_, response) => response.setHeader('x-long', 'x'.repeat(17_000)).end());
    expect(await refusal(fetch({ url: tooHeavy.urlOf('/') }))).toMatchObject(failed);
  });

  it('does not trust a certificate that nobody has signed', async () => {
    const server = await secureServer(hello);
    const { fetch } = await fetching(server, [toCall(server, 'localhost')]);
    expect(await refusal(fetch({ url: server.urlOf('/', 'localhost') }))).toMatchObject({
      ...failed,
      facts: { reason: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
    });
    expect(server.requests).toEqual([]);
  });
});

describe('a redirect', () => {
  it('is followed to a host that the process may call, and says where the answer came from', async () => {
    const target = await webServer(hello);
    const server = await webServer(redirecting(302, target.urlOf('/there')));
    const { kernel, fetch } = await fetching(server, [toCall(server), toCall(target)]);
    expect(await fetch({ url: server.urlOf('/here') })).toMatchObject({ status: 200, url: target.urlOf('/there') });
    const { items } = await kernel.audit.list({ resource: `net:127.0.0.1/${target.port}` });
    expect(items).toMatchObject([{ action: 'capability.require', outcome: 'ok' }]);
  });

  it('to a host or a port that the process may not call is refused, and nothing is sent there', async () => {
    const target = await webServer(hello);
    for (const location of [target.urlOf('/'), `//127.0.0.1:${target.port}/`, target.urlOf('/', 'localhost')]) {
      const server = await webServer(redirecting(307, location));
      const { fetch } = await fetching(server);
      expect([location, await refusal(fetch({ url: server.urlOf('/') }))]).toMatchObject([location, denied]);
    }
    expect(target.requests).toEqual([]);
  });

  it('to what is no host is refused', async () => {
    for (const location of ['file:///etc/passwd', 'http://user:secret@127.0.0.1/', 'http://', 'gopher://x/']) {
      const server = await webServer(redirecting(302, location));
      const { fetch } = await fetching(server, [everyHost]);
      expect([location, await refusal(fetch({ url: server.urlOf('/') }))]).toMatchObject([location, failed]);
    }
  });

  it('that leads back to itself ends, and so does a chain that is too long', async () => {
    const circle = await webServer(redirecting(301, '/again'));
    const { fetch } = await fetching(circle);
    expect(await refusal(fetch({ url: circle.urlOf('/') }))).toMatchObject(failed);
    expect(circle.requests).toHaveLength(6);
    const chain = await webServer((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end('end');
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    });
    const short = await fetching(chain);
    expect(await short.fetch({ url: chain.urlOf('/5') })).toMatchObject({ body: 'end', url: chain.urlOf('/0') });
    expect(await refusal(short.fetch({ url: chain.urlOf('/6') }))).toMatchObject(failed);
  });

  it('is followed with the method and the body that browsers would use', async () => {
    const rows = [
      [301, 'POST', 'GET', ''],
      [302, 'POST', 'GET', ''],
      [303, 'PUT', 'GET', ''],
      [303, 'HEAD', 'HEAD', ''],
      [302, 'PUT', 'PUT', 'text'],
      [307, 'POST', 'POST', 'text'],
      [308, 'POST', 'POST', 'text'],
    ] as const;
    const server = await webServer((request, response) => {
      const status = Number(request.url?.slice(1));
      if (status > 0) response.writeHead(status, { location: '/' }).end();
      else response.end();
    });
    const { fetch } = await fetching(server);
    for (const [status, method, then, body] of rows) {
      const sent = method === 'HEAD' ? {} : { body: 'text', headers: { 'content-type': 'text/x-own' } };
      await fetch({ url: server.urlOf(`/${status}`), method, ...sent });
      const next = server.requests.at(-1);
      const type = next?.headers['content-type'] ?? '';
      const expected = [then, '/', body, body === '' ? '' : 'text/x-own'];
      expect([status, method, next?.method, next?.path, next?.body, type]).toEqual([status, method, ...expected]);
    }
  });

  it('keeps credentials only within the same origin', async () => {
    const target = await webServer(hello);
    const server = await webServer((request, response) => {
      response.writeHead(302, { location: request.url === '/' ? '/again' : target.urlOf('/') }).end();
    });
    const { fetch } = await fetching(server, [toCall(server), toCall(target)]);
    const headers = { authorization: 'Bearer abc', cookie: 'a=1', 'proxy-authorization': 'x', 'x-own': 'stays' };
    await fetch({ url: server.urlOf('/'), headers });
    expect(server.requests[1]?.headers).toMatchObject(headers);
    expect(target.requests[0]?.headers).toMatchObject({ 'x-own': 'stays' });
    for (const name of ['authorization', 'cookie', 'proxy-authorization']) {
      expect(target.requests[0]?.headers).not.toHaveProperty(name);
    }
  });

  it('never leads from https to http', () => {
    const target = netTarget('https://example.com/');
    if (typeof target === 'string') throw new Error(target);
    const hop = { target, method: 'GET', headers: {} };
    expect(nextHop(hop, 302, 'http://example.com/')).toEqual(expect.any(String));
    expect(nextHop(hop, 302, 'https://example.org/')).toMatchObject({ target: { resource: 'net:example.org/443' } });
    expect(nextHop(hop, 200, 'https://example.org/')).toBeUndefined();
  });
});

describe('the body of an answer', () => {
  it('is read up to a bound, cut between characters, and the rest is not fetched', async () => {
    let written = 0;
    const endless = function* () {
      for (; written < 100_000_000; written += 65_536) yield 'ä'.repeat(32 * 1024);
    };
    const server = await webServer((_, response) => void pipeline(Readable.from(endless()), response, () => undefined));
    const { fetch } = await fetching(server);
    const { body, truncated } = await fetch({ url: server.urlOf('/'), maxBytes: 100_001 });
    expect([String(body).length, truncated]).toEqual([50_000, true]);
    await eventually(async () => expect(await server.connections()).toBe(0));
    expect(written).toBeLessThan(100_000_000);
    expect(await refusal(fetch({ url: server.urlOf('/'), maxBytes: 512 * 1024 + 1 }))).toMatchObject({
      code: 'INVALID_INPUT',
    });
  });

  it('is base64 where it is not text, or text in other characters than UTF-8', async () => {
    const server = await webServer((request, response) => {
      if (request.url === '/latin') response.setHeader('content-type', 'text/plain; charset=ISO-8859-1');
      response.end(request.url === '/empty' ? '' : Buffer.from([0x41, 0xe4]));
    });
    const { fetch } = await fetching(server);
    expect(await fetch({ url: server.urlOf('/') })).toMatchObject({
      body: 'QeQ=',
      encoding: 'base64',
      truncated: false,
    });
    expect(await fetch({ url: server.urlOf('/latin') })).toMatchObject({ body: 'QeQ=', encoding: 'base64' });
    expect(await fetch({ url: server.urlOf('/empty') })).toMatchObject({ body: '', encoding: 'utf8' });
    expect(await fetch({ url: server.urlOf('/'), method: 'HEAD' })).toMatchObject({ body: '', encoding: 'utf8' });
  });

  it('is decompressed, and what is not compressed as it says is a failure', async () => {
    const compressors = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync } as const;
    const server = await webServer((request, response) => {
      const encoding = request.url?.slice(1) ?? '';
      response.setHeader('content-encoding', encoding);
      const text = Buffer.from('text '.repeat(1_000));
      if (encoding in compressors) response.end(compressors[encoding as keyof typeof compressors](text));
      else response.end(encoding === 'gzip,br' ? brotliCompressSync(gzipSync(text)) : text);
    });
    const { fetch } = await fetching(server);
    for (const encoding of ['gzip', 'deflate', 'br', 'gzip,br', 'identity', 'unknown']) {
      const answer = await fetch({ url: server.urlOf(`/${encoding}`) });
      expect([encoding, answer]).toMatchObject([encoding, { body: 'text '.repeat(1_000) }]);
    }
    expect(await refusal(fetch({ url: server.urlOf('/x-gzip') }))).toMatchObject(failed);
  });

  it('is bounded by what it becomes, not by what was sent', async () => {
    const bomb = gzipSync(gzipSync(Buffer.alloc(50_000_000)));
    const server = await webServer((_, response) => response.setHeader('content-encoding', 'gzip, gzip').end(bomb));
    const { fetch } = await fetching(server);
    const { body, truncated } = await fetch({ url: server.urlOf('/'), maxBytes: 1_000 });
    expect([String(body).length, truncated]).toEqual([1_000, true]);
    expect(bomb.length).toBeLessThan(10_000);
  });
});

describe('the time of a request', () => {
  it('is limited, before the answer and within it', async () => {
    const server = await webServer((request, response) => {
      if (request.url === '/body') response.write('begun');
    });
    const { fetch } = await fetching(server);
    for (const path of ['/', '/body']) {
      expect([path, await refusal(fetch({ url: server.urlOf(path), timeoutMs: 200 }))]).toMatchObject([
        path,
        { code: 'TOOL_TIMEOUT', facts: { timeoutMs: 200 } },
      ]);
    }
    await eventually(async () => expect(await server.connections()).toBe(0));
  });

  it('is over when the process is stopped, and when nobody wants the answer', async () => {
    const server = await webServer(() => undefined);
    const { kernel, pid, fetch } = await fetching(server);
    const controller = new AbortController();
    const given = refusal(fetch({ url: server.urlOf('/') }, { signal: controller.signal }));
    await eventually(() => expect(server.requests).toHaveLength(1));
    controller.abort();
    expect(await given).toMatchObject({ code: 'CANCELLED' });
    const stopped = refusal(fetch({ url: server.urlOf('/') }));
    await eventually(() => expect(server.requests).toHaveLength(2));
    await kernel.processes.kill(pid);
    expect(['CANCELLED', 'PROCESS_TERMINATED']).toContain((await stopped).code);
    await eventually(async () => expect(await server.connections()).toBe(0));
  });

  it('also ends the search for a name', async () => {
    const { fetch } = await fetching(undefined, [everyHost], () => new Promise(() => undefined));
    expect(await refusal(fetch({ url: 'http://slow.test/', timeoutMs: 100 }))).toMatchObject({ code: 'TOOL_TIMEOUT' });
  });
});

describe('a name', () => {
  it('that leads to this machine needs a capability on the address as well', async () => {
    const server = await webServer(hello);
    const lookup = async () => ['127.0.0.1'];
    const name = toCall(server, 'internal.test');
    const url = server.urlOf('/', 'internal.test');
    const without = await fetching(server, [name], lookup);
    expect(await refusal(without.fetch({ url }))).toMatchObject({
      ...denied,
      facts: { resource: `net:127.0.0.1/${server.port}` },
    });
    expect(server.requests).toEqual([]);
    const both = await fetching(server, [name, toCall(server)], lookup);
    expect(await both.fetch({ url })).toMatchObject({ status: 200, url });
    expect(server.requests).toMatchObject([{ headers: { host: `internal.test:${server.port}` } }]);
  });

  it('that leads to an address that is not public is refused, though its host may be called', async () => {
    const addresses = [
      '10.0.0.1',
      '169.254.169.254',
      '192.168.1.1',
      '172.31.0.1',
      '100.64.0.1',
      '0.0.0.0',
      '224.0.0.1',
      '255.255.255.255',
      '::1',
      '::',
      '::ffff:10.0.0.1',
      'fe80::1',
      'fd00::1',
      'ff02::1',
      '64:ff9b::a00:1',
    ];
    const capability: CapabilitySpec = { resource: 'net:*.test/80', rights: ['call'] };
    const lookup = async (host: string) => [addresses[Number(host.split('.')[0])] ?? ''];
    const { fetch } = await fetching(undefined, [capability], lookup);
    for (const [index, address] of addresses.entries()) {
      const refused = await refusal(fetch({ url: `http://${index}.test/` }));
      expect([address, refused]).toMatchObject([address, denied]);
    }
  });

  it('is looked up once for each hop, and the request goes to the address that was checked', async () => {
    const target = await webServer(hello);
    const server = await webServer(redirecting(302, target.urlOf('/', 'second.test')));
    const asked: string[] = [];
    const lookup = async (host: string) => {
      asked.push(host);
      // Whoever asks again is sent elsewhere.
      return asked.filter((name) => name === host).length > 1 ? ['127.0.0.9'] : ['127.0.0.1'];
    };
    const names = [toCall(server, 'first.test'), toCall(target, 'second.test')];
    const { fetch } = await fetching(server, [...names, toCall(server), toCall(target)], lookup);
    expect(await fetch({ url: server.urlOf('/', 'first.test') })).toMatchObject({
      url: target.urlOf('/', 'second.test'),
    });
    expect(asked).toEqual(['first.test', 'second.test']);
  });

  it('behind a redirect is held against the same rules', async () => {
    const target = await webServer(hello);
    const server = await webServer(redirecting(302, target.urlOf('/', 'inner.test')));
    const capabilities = [toCall(server), toCall(target, 'inner.test')];
    const { fetch } = await fetching(server, capabilities, async () => ['127.0.0.1']);
    expect(await refusal(fetch({ url: server.urlOf('/') }))).toMatchObject(denied);
    expect(target.requests).toEqual([]);
  });

  it('with several addresses is called at one of those that may be called', async () => {
    const server = await webServer(hello);
    const name = toCall(server, 'several.test');
    const lookup = async () => ['169.254.169.254', 'fe80::1', '127.0.0.1'];
    const { fetch } = await fetching(server, [name, toCall(server)], lookup);
    expect(await fetch({ url: server.urlOf('/', 'several.test') })).toMatchObject({ status: 200 });
  });

  it('of this machine may lead to it, unless a rule forbids the address', async () => {
    const server = await webServer(hello);
    const own = await fetching(server, [toCall(server, 'localhost')]);
    const url = server.urlOf('/', 'localhost');
    expect(await own.fetch({ url })).toMatchObject({ status: 200 });
    await own.kernel.capabilities.deny(own.pid, { resource: `net:127.0.0.1/${server.port}`, rights: ['call'] });
    await own.kernel.capabilities.deny(own.pid, { resource: `net:[::1]/${server.port}`, rights: ['call'] });
    expect(await refusal(own.fetch({ url }))).toMatchObject(denied);
    const named = [toCall(server, 'sub.localhost')];
    const elsewhere = await fetching(server, named, async () => ['10.0.0.1']);
    expect(await refusal(elsewhere.fetch({ url: server.urlOf('/', 'sub.localhost') }))).toMatchObject(denied);
    expect(server.requests).toHaveLength(1);
  });

  it('of a public address is refused where a rule forbids the address', async () => {
    const capability: CapabilitySpec = { resource: 'net:public.test/80', rights: ['call'] };
    const { kernel, pid, fetch } = await fetching(undefined, [capability], async () => ['93.184.216.34']);
    await kernel.capabilities.deny(pid, { resource: 'net:93.184.216.34/**', rights: ['call'] });
    expect(await refusal(fetch({ url: 'http://public.test/' }))).toMatchObject({
      ...denied,
      facts: { code: 'DENY_RULE' },
    });
  });

  it('that cannot be found is a failure', async () => {
    const lookup = async () => {
      throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    };
    for (const find of [lookup, async () => [], async () => ['not an address']]) {
      const { fetch } = await fetching(undefined, [everyHost], find);
      expect(await refusal(fetch({ url: 'http://missing.test/' }))).toMatchObject(failed);
    }
  });
});

const everyHost: CapabilitySpec = { resource: 'net:**', rights: ['call'] };
const hello: RequestListener = (_, response) => response.end('hello');

function redirecting(status: number, location: string): RequestListener {
  return (_, response) => response.writeHead(status, { location }).end();
}

function toCall({ port }: WebServer, host = '127.0.0.1'): CapabilitySpec {
  return { resource: `net:${host}/${port}`, rights: ['call'] };
}

interface Fetching {
  readonly kernel: Kernel;
  readonly pid: Pid;
  fetch(args: JsonObject, options?: { signal?: AbortSignal }): Promise<JsonObject>;
}

/** A process that may call the tool, and by default the server by its address. */
async function fetching(
  server: WebServer | undefined,
  capabilities: readonly CapabilitySpec[] = server === undefined ? [] : [toCall(server)],
  lookup?: (host: string) => Promise<readonly string[]>,
): Promise<Fetching> {
  const kernel = await openKernel({ node: { executor: false }, durability: 'normal' });
  const prefix = lookup === undefined ? '' : 'own.';
  registerMissing(kernel, [httpFetch(lookup === undefined ? {} : { lookup })], prefix);
  const pid = await kernel.processes.spawn({ capabilities: [callTools, ...capabilities] });
  const fetch: Fetching['fetch'] = async (args, options) =>
    (await kernel.as(pid).tools.call(`${prefix}http.fetch`, args, options)) as JsonObject;
  return { kernel, pid, fetch };
}

/** A port that answers every connection with this text. */
async function rawServer(text: string): Promise<number> {
  const server = createServer((socket) => void socket.on('error', () => undefined).end(text));
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as { port: number }).port;
}

/** A port that nobody listens on. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
