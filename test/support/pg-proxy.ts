import { connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { Deferred } from '../../src/base/deferred.js';

/** A proxy before a PostgreSQL server, which can lose what passes through it. */
export interface PgProxy {
  /** The address of the store, through the proxy. */
  readonly store: string;
  /** Ends all connections at once. */
  cut(): void;
  /** The next COMMIT of a writer reaches the server, and its answer is lost with the connection. */
  swallowNextCommit(): void;
  /** As `swallowNextCommit`, and the proxy is stopped with it: nobody can ask what became of the COMMIT. Resolves when it is. */
  swallowNextCommitAndStop(): Promise<void>;
  /** Accepts no connections until `resume`, and ends those that are open. */
  stop(): void;
  resume(): void;
}

export async function startProxy(store: string): Promise<PgProxy> {
  const target = new URL(store);
  const pairs = new Set<readonly [Socket, Socket]>();
  let swallows = false;
  let isStopped = false;
  let stopped: Deferred | undefined;
  const server: Server = createServer((client) => {
    if (isStopped) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port || 5432), target.hostname);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    let isLost = false;
    client.on('data', (data) => {
      // The batch that ends a group has the facts of the store in it. Its answer is lost, the COMMIT is not.
      if (swallows && data.includes('newest event')) [isLost, swallows] = [true, false];
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (!isLost) client.write(data);
      else if (stopped !== undefined) stop();
      else setTimeout(() => end(pair), 50);
    });
    for (const socket of pair) {
      socket.on('error', () => end(pair));
      socket.on('close', () => end(pair));
    }
  });
  const end = (pair: readonly [Socket, Socket]) => {
    pairs.delete(pair);
    for (const socket of pair) socket.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const pair of [...pairs]) end(pair);
    server.close();
  });
  const address = new URL(store);
  address.hostname = '127.0.0.1';
  address.port = String((server.address() as { port: number }).port);
  const cut = () => {
    for (const pair of [...pairs]) end(pair);
  };
  const stop = () => {
    isStopped = true;
    cut();
    stopped?.resolve();
    stopped = undefined;
  };
  return {
    store: address.href,
    cut,
    swallowNextCommitAndStop: () => {
      stopped = new Deferred();
      swallows = true;
      return stopped.promise;
    },
    swallowNextCommit: () => {
      swallows = true;
    },
    stop,
    resume: () => {
      isStopped = false;
    },
  };
}
