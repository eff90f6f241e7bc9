import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { selfSigned } from './self-signed.js';

export interface WebServer {
  readonly port: number;
  /** `http://127.0.0.1:PORT`, or with another name for it. */
  at(path: string, host?: string): string;
  /** What has come: method, path, headers and body. */
  readonly requests: readonly Received[];
  /** How many connections are open. */
  connections(): Promise<number>;
}

interface Received extends Pick<IncomingMessage, 'headers'> {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** A server on the loopback address that is closed, with its connections, after the test. */
export async function webServer(answer: RequestListener): Promise<WebServer> {
  return listening(answer, 'http', (listener) => createServer(listener));
}

/** The same with TLS, and with a certificate that nobody has reason to trust. */
export async function secureServer(answer: RequestListener): Promise<WebServer> {
  return listening(answer, 'https', (listener) => createSecureServer(selfSigned('localhost'), listener));
}

async function listening(
  answer: RequestListener,
  scheme: string,
  create: (listener: RequestListener) => Server,
): Promise<WebServer> {
  const requests: Received[] = [];
  const server = create(async (request, response) => {
    const { method = '', url = '', headers } = request;
    let body = '';
    for await (const chunk of request) body += chunk;
    requests.push({ method, path: url, headers, body });
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    at: (path, host = '127.0.0.1') => `${scheme}://${host}:${port}${path}`,
    requests,
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
      }),
  };
}
