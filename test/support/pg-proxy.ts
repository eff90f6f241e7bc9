import { connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/**
 * What becomes of a COMMIT: it does not reach the server, and the connection ends; it does, and the connection ends before the
 * answer; it does, and the answer does not come, with a connection that stays, until `deliver`; the server gets a command that
 * takes the transaction back in its place; the server gets the first half of the message, with a connection that stays.
 */
export type CommitFate = 'lost' | 'answer lost' | 'answer withheld' | 'taken back' | 'half sent';

/** A proxy before a PostgreSQL server, which can lose what passes through it. */
export interface PgProxy {
  /** The address of the store, through the proxy. */
  readonly store: string;
  /** Ends all connections at once. */
  cut(): void;
  /** Decides on the next COMMIT of a writer. Resolves when it has met its fate; `andStop`: from then on as after `stop`, without ending others. */
  decideNextCommit(fate: CommitFate, options?: { readonly andStop: boolean }): Promise<void>;
  /** Withholds the answers to the connections that are open. */
  withholdAnswers(): void;
  /** Hands over the answers that were withheld. */
  deliver(): void;
  /** Accepts no connections until `resume`, and ends those that are open. */
  stop(): void;
  resume(): void;
  /** New connections lead to this server. */
  redirect(url: string): void;
}

/** A connection of a client, and the one to the server that belongs to it. */
interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  /** What happens to the answers of the server. */
  answers: 'passed on' | 'lost' | 'withheld';
  readonly withheld: Buffer[];
  /** Whether the server gets nothing more. */
  isStuck: boolean;
}

interface Decision {
  readonly fate: CommitFate;
  readonly andStop: boolean;
  readonly onMet: () => void;
}

/** The batch that ends a group: it has the facts of the store in it, or the text of a statement that no other has. */
const commitMarks = ['newest event', 'UPDATE "head"'];

export async function startProxy(store: string): Promise<PgProxy> {
  let target = new URL(store);
  const pairs = new Set<Pair>();
  let decision: Decision | undefined;
  let isStopped = false;
  const end = (pair: Pair) => {
    pairs.delete(pair);
    pair.client.destroy();
    pair.upstream.destroy();
  };
  const cut = () => {
    for (const pair of [...pairs]) end(pair);
  };
  const fromClient = (pair: Pair, data: Buffer) => {
    if (pair.isStuck) return;
    if (decision === undefined || !commitMarks.some((mark) => data.includes(mark))) {
      pair.upstream.write(data);
      return;
    }
    const { fate, andStop, onMet } = decision;
    decision = undefined;
    isStopped ||= andStop;
    meet(pair, data, fate);
    // Those that wait go on after the data have left.
    setImmediate(onMet);
  };
  const meet = (pair: Pair, data: Buffer, fate: CommitFate) => {
    switch (fate) {
      case 'lost':
        return end(pair);
      case 'answer lost':
        pair.answers = 'lost';
        return void pair.upstream.write(data);
      case 'answer withheld':
        pair.answers = 'withheld';
        return void pair.upstream.write(data);
      case 'taken back':
        return void pair.upstream.write(replaced(data, 'COMMIT\0', 'ABORT \0'));
      case 'half sent':
        pair.isStuck = true;
        return void pair.upstream.write(data.subarray(0, Math.floor(data.length / 2)));
    }
  };
  const fromServer = (pair: Pair, data: Buffer) => {
    if (pair.answers === 'lost') end(pair);
    else if (pair.answers === 'withheld') pair.withheld.push(data);
    else pair.client.write(data);
  };
  const server: Server = createServer((client) => {
    if (isStopped) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port || 5432), target.hostname);
    const pair: Pair = { client, upstream, answers: 'passed on', withheld: [], isStuck: false };
    pairs.add(pair);
    client.on('data', (data) => fromClient(pair, data));
    upstream.on('data', (data) => fromServer(pair, data));
    for (const socket of [client, upstream]) {
      socket.on('error', () => end(pair));
      socket.on('close', () => end(pair));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    cut();
    server.close();
  });
  const address = new URL(store);
  const place = server.address();
  if (place === null || typeof place === 'string') throw new Error('there is no port');
  address.hostname = '127.0.0.1';
  address.port = String(place.port);
  return {
    store: address.href,
    cut,
    decideNextCommit: (fate, { andStop } = { andStop: false }) =>
      new Promise((resolve) => {
        decision = { fate, andStop, onMet: resolve };
      }),
    withholdAnswers: () => {
      for (const pair of pairs) pair.answers = 'withheld';
    },
    deliver: () => {
      for (const pair of pairs) {
        pair.answers = 'passed on';
        for (const data of pair.withheld.splice(0)) pair.client.write(data);
      }
    },
    stop: () => {
      isStopped = true;
      cut();
    },
    resume: () => {
      isStopped = false;
    },
    redirect: (url) => {
      target = new URL(url);
    },
  };
}

function replaced(data: Buffer, before: string, after: string): Buffer {
  const at = data.lastIndexOf(before);
  if (at < 0) throw new Error('the statement was sent before: use ?prepare=false');
  const copy = Buffer.from(data);
  copy.write(after, at, 'latin1');
  return copy;
}
