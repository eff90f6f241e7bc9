import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** An answer of a server: a body with status 200, or another status. */
export type ProviderReply = object | { readonly status: number; readonly body: object };

/** A local server that answers requests as the API of a provider does. */
export class ProviderServer {
  /** The bodies of the requests, by their path. */
  readonly requests: { readonly path: string; readonly body: ProviderRequest }[] = [];
  private readonly server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const body = JSON.parse(text) as ProviderRequest;
    this.requests.push({ path: request.url ?? '', body });
    const reply = await this.script(body, this.requests.length);
    const [status, answer] = 'status' in reply && 'body' in reply ? [Number(reply.status), reply.body] : [200, reply];
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  });

  private constructor(
    private readonly script: (request: ProviderRequest, number: number) => ProviderReply | Promise<ProviderReply>,
  ) {}

  /** Listens until the test is finished. Its client is `post`. */
  static async start(
    script: (request: ProviderRequest, number: number) => ProviderReply | Promise<ProviderReply>,
  ): Promise<ProviderServer> {
    const provider = new ProviderServer(script);
    await new Promise<void>((resolve) => provider.server.listen(0, '127.0.0.1', resolve));
    onTestFinished(async () => {
      provider.server.closeAllConnections();
      await new Promise((resolve) => provider.server.close(resolve));
    });
    return provider;
  }

  /** Sends a request as the SDK of a provider does, and throws for an error status with the member that SDKs give. */
  async post<Answer>(path: string, body: object, signal?: AbortSignal): Promise<Answer> {
    const { port } = this.server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.ok) return (await response.json()) as Answer;
    throw Object.assign(new Error(`the provider answered with ${response.status}`), { status: response.status });
  }
}

/** The members of a request that tests look at. */
export interface ProviderRequest {
  readonly messages?: readonly { readonly role: string; readonly content: unknown; readonly tool_call_id?: string }[];
  readonly input?: readonly { readonly type?: string; readonly output?: string }[];
  readonly tools?: readonly object[];
}
