import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/index.js';
import { redactUrl, redactUrlsIn } from '../../src/tools/http/redact-url.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { openRawTables } from '../support/storage/raw-tables.js';
import { callTools } from '../support/tools/file-fixture.js';
import { webServer } from '../support/tools/web-server.js';

const hello: RequestListener = (_request, response) => void response.end('hello');

async function fetching() {
  const store = await newStore();
  const kernel = await openKernel({ store, node: { executor: false }, durability: 'normal' });
  const pid = await kernel.processes.spawn({ capabilities: [callTools, { resource: 'net:**', rights: ['call'] }] });
  const fetch = async (args: JsonObject) => (await kernel.as(pid).tools.call('http.fetch', args)) as JsonObject;
  /** Everything in the database and its log. */
  const stored = async () => {
    const tables = openRawTables(store);
    const { items } = await kernel.audit.list();
    const objects = await kernel.memory.query(pid, {});
    return JSON.stringify([items, objects, await tables.find('processes', { pid })]);
  };
  return { kernel, pid, fetch, stored };
}

describe('secrets in the URL of a request', () => {
  const names = [
    'sig',
    'code',
    'token',
    'access_token',
    'id_token',
    'apiKey',
    'api-key',
    'X-Amz-Signature',
    'X-Amz-Credential',
    'password',
    'pwd',
    'client_secret',
    'sessionid',
    'auth',
    'otp',
    'user_pin',
    'authCode',
    'code_verifier',
    'PHPSESSID',
    '%74oken',
  ];

  it.each(names)('are neither in the result nor on record: %s', async (name) => {
    const server = await webServer(hello);
    const { fetch, stored } = await fetching();
    const result = await fetch({ url: server.urlOf(`/x?page=2&${name}=abc123secret&q=1#abc123secret`) });
    expect(server.requests[0]?.path).toBe(`/x?page=2&${name}=abc123secret&q=1`);
    expect(result.url).toBe(server.urlOf(`/x?page=2&${name}=%5Bhidden%5D&q=1`));
    expect(JSON.stringify(result)).not.toContain('abc123secret');
    expect(await stored()).not.toContain('abc123secret');
  });

  it('are not shown of a redirect, and of the URLs in other answers', async () => {
    const target = await webServer(hello);
    const server = await webServer((request, response) => {
      if (request.url === '/created') {
        const link = '<https://a.example/?sig=abc123secret>; rel="next", </b?page=2>; rel="last"';
        response.writeHead(201, { location: '/it?code=abc123secret#abc123secret', link }).end();
      } else
        response.writeHead(302, { location: target.urlOf('/cb?code=abc123secret&state=1#token=abc123secret') }).end();
    });
    const { fetch, stored } = await fetching();
    const result = await fetch({ url: server.urlOf('/') });
    expect(target.requests[0]?.path).toBe('/cb?code=abc123secret&state=1');
    expect(result.url).toBe(target.urlOf('/cb?code=%5Bhidden%5D&state=1'));
    const created = await fetch({ url: server.urlOf('/created') });
    expect(created.headers).toMatchObject({
      location: '/it?code=%5Bhidden%5D#%5Bhidden%5D',
      link: '<https://a.example/?sig=%5Bhidden%5D>; rel="next", </b?page=2>; rel="last"',
    });
    expect(JSON.stringify([result, created])).not.toContain('abc123secret');
    expect(await stored()).not.toContain('abc123secret');
  });

  it('are not in refusals and failures', async () => {
    const { kernel, pid, fetch, stored } = await fetching();
    const failed = await refusal(fetch({ url: 'http://127.0.0.1:1/;jsessionid=abc123secret?token=abc123secret' }));
    expect(JSON.stringify(failed)).not.toContain('abc123secret');
    const invalid = await refusal(fetch({ url: 'http://ann:abc123secret@127.0.0.1:1/' }));
    expect(invalid.code).toBe('INVALID_INPUT');
    expect(JSON.stringify(invalid)).not.toContain('abc123secret');
    await kernel.capabilities.deny(pid, { resource: 'tool:http.fetch', rights: ['call'] });
    const denied = await refusal(fetch({ url: 'http://127.0.0.1:1/?token=abc123secret' }));
    expect(JSON.stringify(denied)).not.toContain('abc123secret');
    expect(await stored()).not.toContain('abc123secret');
  });
});

describe('a redirect to another origin', () => {
  it('gets none of the headers that are hidden on record; the same origin gets all', async () => {
    const target = await webServer(hello);
    const server = await webServer((request, response) => {
      response.writeHead(307, { location: request.url === '/' ? '/again' : target.urlOf('/') }).end();
    });
    const { kernel, fetch } = await fetching();
    const secret = {
      authorization: 'Bearer abc',
      cookie: 'a=1',
      'proxy-authorization': 'x',
      'X-Api-Key': 'abc',
      'x-auth-token': 'abc',
      'X-Amz-Security-Token': 'abc',
      'x-session': 'abc',
      'x-signature': 'abc',
      'x-csrf': 'abc',
      'x-custom': 'Bearer abc',
      'x-plain': 'ghp_0123456789abcdef0123',
    };
    const open = { 'x-own': 'stays', 'accept-language': 'de' };
    await fetch({ url: server.urlOf('/'), headers: { ...secret, ...open } });
    const lowerCase = Object.fromEntries(Object.entries(secret).map(([name, value]) => [name.toLowerCase(), value]));
    expect(server.requests[1]?.headers).toMatchObject({ ...lowerCase, ...open });
    expect(target.requests[0]?.headers).toMatchObject(open);
    const { items } = await kernel.audit.list({ action: 'tool.call' });
    const [intent] = items.filter(({ outcome }) => outcome === 'intent');
    const shown = Object(intent?.payload?.args).headers as Record<string, string>;
    const hidden = Object.keys(shown).filter((name) => shown[name] === '[hidden]');
    expect(hidden.sort()).toEqual(Object.keys(lowerCase).sort());
    for (const name of hidden) expect(target.requests[0]?.headers).not.toHaveProperty(name);
  });
});

describe('a URL as it is shown', () => {
  it.each([
    ['https://a.example/b?c=d&e=f', 'https://a.example/b?c=d&e=f'],
    ['https://ann:pw@a.example/b', 'https://%5Bhidden%5D@a.example/b'],
    ['//ann@a.example/b', '//%5Bhidden%5D@a.example/b'],
    ['https://a.example/?region=asia&lang=sk-SK', 'https://a.example/?region=asia&lang=sk-SK'],
    ['/b?x=eyJhbGciOiJIUzI1NiJ9.e30.abc', '/b?x=%5Bhidden%5D'],
    ['/b?eyJhbGciOiJIUzI1NiJ9.e30.abc', '/b?%5Bhidden%5D'],
    ['/b?token=', '/b?token='],
    ['/b;v=1;jsessionid=abc/c', '/b;v=1;jsessionid=%5Bhidden%5D/c'],
    ['/b?a=1;sig=abc', '/b?a=1;sig=%5Bhidden%5D'],
    ['/b?token=a=b?c', '/b?token=%5Bhidden%5D'],
    [
      '/b?next=https%3A%2F%2Fx%2F%3Fcode%3D1%26a%3D2',
      `/b?next=${encodeURIComponent('https://x/?code=%5Bhidden%5D&a=2')}`,
    ],
    ['/b?%E0%A4%A=1&key=2', '/b?%E0%A4%A=1&key=%5Bhidden%5D'],
    ['', ''],
  ])('%s', (url, shown) => {
    expect(redactUrl(url)).toBe(shown);
  });

  it('is made in linear time', () => {
    const long = `https://a.example/?${'a=?#&;%%'.repeat(20_000)}`;
    expect(redactUrl(long).length).toBeGreaterThan(0);
    expect(redactUrlsIn(`<${'a?'.repeat(50_000)}> ${'@'.repeat(50_000)}`).length).toBeGreaterThan(0);
  });
});
