import { createServer, type Server, type Socket } from 'node:net';
import pg from 'pg';
import { onTestFinished } from 'vitest';

/** A pooler in transaction mode before a PostgreSQL server, as PgBouncer is one. */
export interface TransactionPooler {
  /** The address of the store, through the pooler. */
  readonly store: string;
  /** The number of transactions that it has handed to another server connection than the one before of the same client. */
  readonly moves: number;
}

/** The bytes of a startup message before its length is known: it has no type. */
const startupCode = 196_608;
const syncMessages = new Set(['S', 'Q']);

/** Cuts a stream of bytes into messages: a type, a length that counts itself, and the rest. */
class Messages {
  private rest: Buffer = Buffer.alloc(0);

  *read(data: Buffer): Generator<Buffer> {
    this.rest = Buffer.concat([this.rest, data]);
    while (this.rest.length >= 5) {
      const length = 1 + this.rest.readInt32BE(1);
      if (this.rest.length < length) return;
      yield this.rest.subarray(0, length);
      this.rest = this.rest.subarray(length);
    }
  }
}

const typeOf = (message: Buffer) => String.fromCharCode(message[0] ?? 0);

/** A connection to the server, which clients have one transaction after another. */
class ServerConnection {
  owner: ClientConnection | undefined;
  private readonly messages = new Messages();

  private constructor(
    private readonly socket: Socket,
    private readonly onFree: (connection: ServerConnection) => void,
  ) {
    socket.setNoDelay(true);
    socket.removeAllListeners('data');
    socket.on('data', (data: Buffer) => this.onData(data));
    socket.on('error', () => this.owner?.end());
    socket.on('close', () => this.owner?.end());
  }

  static async open(url: string, onFree: (connection: ServerConnection) => void): Promise<ServerConnection> {
    const client = new pg.Client({ connectionString: url, application_name: 'procura pooled writer' });
    client.on('error', () => undefined);
    await client.connect();
    const { stream } = (client as pg.Client & { connection: { stream: Socket } }).connection;
    return new ServerConnection(stream, onFree);
  }

  /** Sends messages in one packet. */
  send(messages: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(messages));
  }

  end(): void {
    this.socket.destroy();
  }

  private onData(data: Buffer): void {
    const { owner } = this;
    owner?.cork();
    for (const message of this.messages.read(data)) {
      const type = typeOf(message);
      // Notifications are of the session, which nobody has.
      if (type === 'A') continue;
      this.owner?.receive(Buffer.from(message));
      if (type === 'Z') this.onReady(String.fromCharCode(message[5] ?? 0));
    }
    owner?.uncork();
  }

  private onReady(status: string): void {
    const { owner } = this;
    if (owner === undefined) return;
    owner.answered++;
    if (status !== 'I' || owner.answered < owner.asked) return;
    this.owner = undefined;
    owner.server = undefined;
    this.onFree(this);
  }
}

/** A client of the pooler: it has a connection to the server while a transaction is open. */
class ClientConnection {
  server: ServerConnection | undefined;
  /** The last one that it had. */
  last: ServerConnection | undefined;
  asked = 0;
  answered = 0;
  private readonly messages = new Messages();
  private readonly held: Buffer[] = [];
  private hasStarted = false;

  constructor(
    private readonly socket: Socket,
    private readonly pool: Pool,
  ) {
    socket.setNoDelay(true);
    socket.on('data', (data) => this.onData(data));
    socket.on('error', () => this.end());
    socket.on('close', () => this.leave());
  }

  receive(message: Buffer): void {
    this.socket.write(message);
  }

  cork(): void {
    this.socket.cork();
  }

  uncork(): void {
    this.socket.uncork();
  }

  /** It has a connection to the server: what it has sent meanwhile goes there. */
  attach(server: ServerConnection): void {
    this.server = server;
    server.owner = this;
    this.forward(this.held.splice(0));
  }

  end(): void {
    this.socket.destroy();
  }

  private onData(data: Buffer): void {
    if (!this.hasStarted) {
      this.start(data);
      return;
    }
    const isWaiting = this.held.length > 0;
    for (const message of this.messages.read(data)) {
      if (typeOf(message) === 'X') this.end();
      else this.held.push(Buffer.from(message));
    }
    if (this.held.length === 0) return;
    if (this.server !== undefined) this.forward(this.held.splice(0));
    else if (!isWaiting) this.pool.request(this);
  }

  /** Lets in whoever comes: the pooler has logged in itself. */
  private start(data: Buffer): void {
    if (data.readInt32BE(4) !== startupCode) {
      this.end();
      return;
    }
    this.hasStarted = true;
    this.receive(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]));
    this.receive(Buffer.from([0x4b, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 1]));
    this.receive(Buffer.from([0x5a, 0, 0, 0, 5, 0x49]));
  }

  private forward(messages: readonly Buffer[]): void {
    this.asked += messages.filter((message) => syncMessages.has(typeOf(message))).length;
    this.server?.send(messages);
  }

  /** A client that goes in the middle of a transaction takes its connection with it, as PgBouncer does. */
  private leave(): void {
    this.pool.forget(this);
    this.server?.end();
  }
}

/** The connections to the server: the one that was free for longest goes first, so that a client seldom gets the same again. */
class Pool {
  moves = 0;
  private readonly free: ServerConnection[] = [];
  private readonly waiting: ClientConnection[] = [];
  private readonly all = new Set<ServerConnection>();

  constructor(
    private readonly url: string,
    private readonly size: number,
  ) {}

  async fill(): Promise<void> {
    for (let n = 0; n < this.size; n++) {
      const server = await ServerConnection.open(this.url, (connection) => this.giveBack(connection));
      this.all.add(server);
      this.free.push(server);
    }
  }

  request(client: ClientConnection): void {
    const other = this.free.findIndex((server) => server !== client.last);
    const [server] = this.free.splice(Math.max(other, 0), 1);
    if (server === undefined) this.waiting.push(client);
    else this.assign(client, server);
  }

  forget(client: ClientConnection): void {
    const index = this.waiting.indexOf(client);
    if (index >= 0) this.waiting.splice(index, 1);
  }

  end(): void {
    for (const server of this.all) server.end();
  }

  private giveBack(server: ServerConnection): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free.push(server);
    else this.assign(next, server);
  }

  private assign(client: ClientConnection, server: ServerConnection): void {
    if (client.last !== undefined && client.last !== server) this.moves++;
    client.last = server;
    client.attach(server);
  }
}

/** Starts a pooler with so many connections to the server; clients come without a password. */
export async function startPooler(store: string, size: number): Promise<TransactionPooler> {
  const url = new URL(store);
  url.search = '';
  const pool = new Pool(url.href, size);
  await pool.fill();
  const clients = new Set<ClientConnection>();
  const server: Server = createServer((socket) => void clients.add(new ClientConnection(socket, pool)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const client of clients) client.end();
    pool.end();
    server.close();
  });
  const address = new URL(store);
  address.host = `127.0.0.1:${(server.address() as { port: number }).port}`;
  return {
    store: address.href,
    get moves() {
      return pool.moves;
    },
  };
}
