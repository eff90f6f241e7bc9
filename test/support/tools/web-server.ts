import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { selfSigned } from './self-signed.js';

export interface WebServer {
  readonly port: number;
  /** `http://127.0.0.1:PORT`, or with another name for it. */
  urlOf(path: string, host?: string): string;
  readonly requests: readonly ReceivedRequest[];
  /** The number of open connections. */
  connections(): Promise<number>;
}

interface ReceivedRequest extends Pick<IncomingMessage, 'headers'> {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** An HTTP server on the loopback address, closed with its connections after the test. */
export async function webServer(answer: RequestListener): Promise<WebServer> {
  return startServer(answer, 'http', (listener) => createServer(listener));
}

/** An HTTPS server with a self-signed certificate. */
export async function secureServer(answer: RequestListener): Promise<WebServer> {
  return startServer(answer, 'https', (listener) => createSecureServer(selfSigned('localhost'), listener));
}

async function startServer(
  answer: RequestListener,
  scheme: string,
  create: (listener: RequestListener) => Server,
): Promise<WebServer> {
  const requests: ReceivedRequest[] = [];
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
    urlOf: (path, host = '127.0.0.1') => `${scheme}://${host}:${port}${path}`,
    requests,
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
      }),
  };
}
