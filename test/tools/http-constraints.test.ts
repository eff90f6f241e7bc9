import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { CapabilitySpec, Constraints, JsonObject, Kernel, Pid } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { openKernel, refusal } from '../support/kernel.js';
import { type WebServer, webServer } from '../support/tools/web-server.js';

const constrained = { code: 'CAPABILITY_DENIED', facts: { code: 'CONSTRAINT', resource: 'tool:http.fetch' } };
const others = { '*': { any: true } } as const;

const hello: RequestListener = (_request, response) => void response.end('hello');
const redirectTo =
  (location: string, status = 302): RequestListener =>
  (request, response) =>
    void (request.url?.startsWith('/v1/') ? response.writeHead(status, { location }).end() : response.end('reached'));

interface Fetching {
  readonly kernel: Kernel;
  readonly pid: Pid;
  fetch(args: JsonObject): Promise<JsonObject>;
}

/** A process that may call the servers, and http.fetch as these capabilities say. */
async function fetching(servers: readonly WebServer[], ...tool: Partial<CapabilitySpec>[]): Promise<Fetching> {
  const kernel = await openKernel({ node: { executor: false }, durability: 'normal' });
  const pid = await kernel.processes.spawn({
    capabilities: [
      ...servers.map(({ port }): CapabilitySpec => ({ resource: `net:*/${port}`, rights: ['call'] })),
      ...tool.map((spec): CapabilitySpec => ({ resource: 'tool:http.fetch', rights: ['call'], ...spec })),
    ],
  });
  return {
    kernel,
    pid,
    fetch: async (args) => (await kernel.as(pid).tools.call('http.fetch', args)) as JsonObject,
  };
}

describe('a constraint on the URL of http.fetch', () => {
  it('is compared with the URL that is requested, whatever the spelling', async () => {
    const server = await webServer(hello);
    const prefix = server.urlOf('/v1/');
    const { fetch } = await fetching([server], { constraints: { url: { prefix }, ...others } });
    const origin = server.urlOf('');
    const refused = [
      '/v1/../admin',
      '/v1/%2e%2e/admin',
      '/v1/.%2E/admin',
      '/v1/..\\admin',
      '/v1/x/../../admin',
      '/v1/\t../admin',
      '/v1/.\n./admin',
      '/v2/v1/',
    ];
    for (const path of refused)
      expect([path, await refusal(fetch({ url: `${origin}${path}` }))]).toMatchObject([path, constrained]);
    expect(server.requests).toEqual([]);
    const allowed = [
      `${prefix}a`,
      `HTTP://127.0.0.1:${server.port}/v1/a`,
      `http://0x7f.1:${server.port}/v1/./x/../a`,
      `${origin}\\v1\\a`,
      `${origin}/admin/../v1/a#fragment`,
      ` http:\\\\127.0.0.1:${server.port}/v1/\ta `,
    ];
    for (const url of allowed)
      expect([url, await fetch({ url })]).toMatchObject([url, { status: 200, url: `${prefix}a` }]);
    expect(server.requests.map(({ path }) => path)).toEqual(allowed.map(() => '/v1/a'));
  });

  it.each<[string, (url: string) => Constraints]>([
    ['eq', (url) => ({ url: { eq: url }, ...others })],
    ['in', (url) => ({ url: { in: [url] }, ...others })],
  ])('knows one spelling of a URL by %s', async (_, constraintsOf) => {
    const server = await webServer(hello);
    const { fetch } = await fetching([server], { constraints: constraintsOf(server.urlOf('/v1/a')) });
    for (const path of ['/v1/a', '/v1/b/../a', '/v1/a#x'])
      expect(await fetch({ url: server.urlOf(path) })).toMatchObject({ status: 200 });
    for (const path of ['/v1/a?', '/v1/a/', '/v1//a', '/v1/a?x=1'])
      expect(await refusal(fetch({ url: server.urlOf(path) }))).toMatchObject(constrained);
  });

  it('sees header names in lower case', async () => {
    const server = await webServer(hello);
    const constraints: Constraints = { 'headers.x-role': { eq: 'reader', optional: true }, ...others };
    const { fetch } = await fetching([server], { constraints });
    const url = server.urlOf('/');
    for (const name of ['x-role', 'X-Role', 'X-ROLE']) {
      expect(await refusal(fetch({ url, headers: { [name]: 'admin' } }))).toMatchObject(constrained);
      expect(await fetch({ url, headers: { [name]: 'reader' } })).toMatchObject({ status: 200 });
    }
  });

  it('is compared with every redirect, before its request is sent', async () => {
    const server = await webServer((request, response) => {
      const next: Record<string, string> = {
        '/v1/out': '/admin',
        '/v1/in': '/v1/end',
        '/v1/far': '/v1/out',
        '/v1/dots': '/v1/../admin',
      };
      const location = next[request.url ?? ''];
      if (location === undefined) response.end('reached');
      else response.writeHead(302, { location }).end();
    });
    const { fetch } = await fetching([server], { constraints: { url: { prefix: server.urlOf('/v1/') }, ...others } });
    for (const path of ['/v1/out', '/v1/far', '/v1/dots'])
      expect([path, await refusal(fetch({ url: server.urlOf(path) }))]).toMatchObject([path, constrained]);
    expect(server.requests.map(({ path }) => path)).not.toContain('/admin');
    expect(await fetch({ url: server.urlOf('/v1/in') })).toMatchObject({
      url: server.urlOf('/v1/end'),
      body: 'reached',
    });
  });

  it('is compared with method, headers and body as they are after the redirect', async () => {
    const target = await webServer(hello);
    const server = await webServer(redirectTo(target.urlOf('/'), 303));
    const post: Constraints = { method: { eq: 'POST' }, ...others };
    const { fetch } = await fetching([server, target], { constraints: post });
    expect(await refusal(fetch({ url: server.urlOf('/v1/'), method: 'POST', body: 'x' }))).toMatchObject(constrained);
    expect(target.requests).toEqual([]);
    const withKey: Constraints = { 'headers.x-api-key': { eq: 'k' }, ...others };
    const { fetch: fetchWithKey } = await fetching([server, target], { constraints: withKey });
    // The header is not sent to another origin, so the request is not one that is allowed.
    expect(await refusal(fetchWithKey({ url: server.urlOf('/v1/'), headers: { 'X-Api-Key': 'k' } }))).toMatchObject(
      constrained,
    );
    expect(target.requests).toEqual([]);
  });

  it('takes one use for a call with its redirects, and another capability for what the first does not cover', async () => {
    const target = await webServer(hello);
    const server = await webServer(redirectTo(target.urlOf('/')));
    const once = { uses: 1, constraints: { '*': { any: true } } as Constraints };
    const { fetch } = await fetching([server, target], once);
    expect(await fetch({ url: server.urlOf('/v1/') })).toMatchObject({ body: 'hello' });
    expect(await refusal(fetch({ url: server.urlOf('/v1/') }))).toMatchObject({ facts: { code: 'SPENT' } });
    const toServer = { constraints: { url: { prefix: server.urlOf('/') }, ...others } };
    const toTarget = { uses: 1, constraints: { url: { prefix: target.urlOf('/') }, ...others } };
    const both = await fetching([server, target], toServer, toTarget);
    expect(await both.fetch({ url: server.urlOf('/v1/') })).toMatchObject({ body: 'hello' });
    const again = await refusal(both.fetch({ url: server.urlOf('/v1/') }));
    expect(again).toMatchObject({ code: 'CAPABILITY_DENIED' });
    expect(target.requests).toHaveLength(2);
  });

  it('is asked about where a rule asks, once for each request', async () => {
    const target = await webServer(hello);
    const server = await webServer(redirectTo(target.urlOf('/a?token=abc123')));
    const { kernel, pid, fetch } = await fetching([server, target], {});
    await kernel.capabilities.ask(pid, { resource: 'tool:http.fetch', rights: ['call'] });
    const answer = fetch({ url: server.urlOf('/v1/') });
    const pending = async () => (await kernel.approvals.list()).filter(({ status }) => status === 'pending');
    const asked: unknown[] = [];
    for (let count = 1; count <= 2; count++) {
      await eventually(async () => expect(await pending()).toHaveLength(1));
      const [approval] = await pending();
      if (approval === undefined) throw new Error('nothing was asked');
      asked.push((approval.args as JsonObject).url);
      expect(target.requests).toHaveLength(0);
      await kernel.approvals.answer(approval.id, { decision: 'once', by: 'ann' });
      await eventually(async () => expect((await pending()).map(({ id }) => id)).not.toContain(approval.id));
    }
    expect(await answer).toMatchObject({ body: 'hello' });
    expect(asked).toEqual([server.urlOf('/v1/'), target.urlOf('/a?token=%5Bhidden%5D')]);
  });
});
