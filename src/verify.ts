#!/usr/bin/env node
/*
 * Checks an export of the audit log: node verify.js FILE [--key PUB]… [--allow-unsigned]
 *
 * It imports nothing but Node's own modules and shares no code with the kernel, so that a reader who does not trust
 * the kernel needs to read only this file. With --key (a file or the text of a public key, PEM or base64 SPKI) every
 * checkpoint must be signed with one of the given keys; without it, with a key that the export itself names. With --key, a
 * checkpoint must also cover the last record: anybody could have appended those after it. --allow-unsigned accepts them.
 */
import { createHash, createPublicKey, hash, type KeyObject, verify } from 'node:crypto';
import { createReadStream, existsSync, readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface ExportReport {
  readonly ok: boolean;
  /** One sentence for people. */
  readonly message: string;
  readonly kind?: string;
  readonly seq?: number;
}

export interface ExportCheckOptions {
  /** Accepts records after the last checkpoint although keys are given. */
  readonly allowUnsigned?: boolean;
}

/** Reads the whole file once. Never throws: problems are in the report, whose message can be printed as it is. */
export async function verifyExport(
  path: string,
  keys: readonly string[] = [],
  { allowUnsigned = false }: ExportCheckOptions = {},
): Promise<ExportReport> {
  try {
    const pinned = keys.map(readPinned);
    const message = await new ExportCheck(pinned, allowUnsigned).run(readLines(path));
    return { ok: true, message: printable(message) };
  } catch (error) {
    if (error instanceof Finding) return { ok: false, message: printable(error.message), ...error.location };
    const problem = error instanceof Error ? error.message : String(error);
    return { ok: false, message: printable(`${path} cannot be checked: ${problem}`) };
  }
}

const messageCharsMax = 1_000;
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}]/gu;

/** The text for a terminal: an export may hold control characters, and texts of any length. */
function printable(text: string): string {
  const whole = text.length <= messageCharsMax;
  const escaped = (whole ? text : text.slice(0, messageCharsMax)).replace(
    unprintable,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
  return whole ? escaped : `${escaped}…`;
}

class Finding extends Error {
  constructor(
    message: string,
    readonly location: { kind?: string; seq?: number } = {},
  ) {
    super(message);
  }
}

function fault(kind: string, seq: number, detail: string): Finding {
  return new Finding(`${kind} at record ${seq}: ${detail}`, { kind, seq });
}

type Members = Record<string, unknown>;
interface Line {
  readonly number: number;
  readonly value: Members;
}

const hex64 = /^[0-9a-f]{64}$/;
const members = new Map<unknown, readonly string[]>([
  ['manifest', ['kind', 'version', 'log', 'size', 'root', 'unsigned', 'payloads', 'keys']],
  ['record', ['kind', 'seq', 'header', 'hash', 'body', 'payload']],
  ['checkpoint', ['kind', 'log', 'size', 'root', 'at', 'key', 'replaced', 'signature']],
]);

class ExportCheck {
  private log = '';
  private size = 0;
  /** The records after the last checkpoint, as the manifest tells. */
  private unsigned = 0;
  private root = '';
  private withPayloads = false;
  private readonly keys = new Map<string, KeyObject>();
  private count = 0;
  private prev = '0'.repeat(64);
  private readonly tree = new Tree();
  /** Checkpoints whose sizes the records have not reached yet. */
  private readonly pendingCheckpoints = new Map<number, Members[]>();
  private readonly unexplained = new Set<number>();
  private signedSize = 0;
  private checkpointCount = 0;

  constructor(
    private readonly pinned: readonly KeyObject[],
    private readonly allowUnsigned: boolean,
  ) {}

  async run(input: AsyncIterable<Line>): Promise<string> {
    const feed = input[Symbol.asyncIterator]();
    const first = await feed.next();
    if (first.done === true) throw new Finding('The export is empty.');
    this.readManifest(first.value);
    for (let next = await feed.next(); next.done !== true; next = await feed.next()) {
      const { number, value } = next.value;
      if (value.kind === 'checkpoint') this.readCheckpoint(number, value);
      else if (value.kind !== 'record') throw new Finding(`Line ${number} is a second manifest.`);
      else if (Number(value.seq) > this.count + 1) throw await explainGap(this.count + 1, feed);
      else this.readRecord(number, value);
    }
    return this.finish();
  }

  private readManifest({ number, value }: Line): void {
    const { kind, version, log, size, root, unsigned = 0, payloads, keys } = value;
    if (kind !== 'manifest') throw new Finding('The export does not begin with a manifest.');
    if (version !== 1) throw new Finding(`The export has format version ${String(version)}; this verifier knows 1.`);
    const wellFormed = typeof log === 'string' && isCount(size) && isHash(root) && typeof payloads === 'boolean';
    if (!wellFormed || !isCount(unsigned) || !Array.isArray(keys))
      throw new Finding(`Line ${number} is not a manifest.`);
    [this.log, this.size, this.root, this.unsigned, this.withPayloads] = [log, size, root, unsigned, payloads];
    for (const key of keys as unknown[]) {
      const { id, publicKey } = (key ?? {}) as Members;
      if (typeof publicKey !== 'string' || hash('sha256', publicKey, 'hex') !== id) {
        throw fault('BAD_SIGNATURE', 0, 'The manifest has a public key that does not fit its id.');
      }
      this.keys.set(id, parseKey(publicKey));
    }
  }

  private readRecord(number: number, value: Members): void {
    const { seq, header, hash: own, body, payload } = value;
    if (!isCount(seq) || typeof header !== 'string' || typeof own !== 'string' || typeof body !== 'string') {
      throw new Finding(`Line ${number} is not a record.`);
    }
    if (seq <= this.count) throw fault('INSERTED', seq, 'There is more than one record with this number.');
    this.checkLink(seq, header, own, body);
    this.checkPayload(seq, body, payload);
    this.count = seq;
    this.prev = own;
    this.tree.add(Buffer.from(own, 'hex'));
    for (const checkpoint of this.pendingCheckpoints.get(seq) ?? []) this.compareRoot(checkpoint);
    this.pendingCheckpoints.delete(seq);
  }

  private checkLink(seq: number, header: string, own: string, body: string): void {
    if (hash('sha256', `\x00${header}`, 'hex') !== own)
      throw fault('EDITED', seq, 'The header does not have its hash.');
    const parts = parseObject(header);
    if (parts === undefined) throw fault('EDITED', seq, 'The header is not a header.');
    if (parts.seq !== seq) throw fault('REORDERED', seq, `The header is that of record ${String(parts.seq)}.`);
    const bodyHash = hash('sha256', `\x02${body}`, 'hex');
    if (parts.body !== bodyHash) throw fault('EDITED', seq, 'The body does not have the hash in the header.');
    if (parts.log !== this.log) throw fault('INSERTED', seq, 'The record belongs to another log.');
    if (parts.prev !== this.prev) throw fault('INSERTED', seq, 'The record does not follow the one before it.');
    const canonical = `{"body":"${bodyHash}","log":${JSON.stringify(this.log)},"prev":"${this.prev}","seq":${seq}}`;
    if (header !== canonical) throw fault('EDITED', seq, 'The header is not in canonical form.');
  }

  private checkPayload(seq: number, body: string, payload: unknown): void {
    const parts = parseObject(body);
    if (parts === undefined) throw fault('EDITED', seq, 'The body is not a JSON object.');
    if (parts.action === 'audit.erase' && parts.outcome === 'ok') this.unexplained.delete(Number(parts.target));
    const { commitment } = parts;
    if (payload === undefined) {
      if (this.withPayloads && commitment !== undefined) this.unexplained.add(seq);
      return;
    }
    const { salt, bytes } = (payload ?? {}) as Members;
    if (typeof salt !== 'string' || !/^[0-9a-f]*$/.test(salt) || typeof bytes !== 'string') {
      throw fault('EDITED', seq, 'The payload is not one.');
    }
    const found = createHash('sha256').update('\x03').update(Buffer.from(salt, 'hex')).update(bytes).digest('hex');
    if (found !== commitment) throw fault('EDITED', seq, 'The payload is not the one that the body commits to.');
  }

  private readCheckpoint(number: number, value: Members): void {
    const { log, size, root, at, key, replaced, signature } = value;
    if (typeof log !== 'string' || !isCount(size) || !isHash(root) || !isHash(key) || !Number.isInteger(at)) {
      throw new Finding(`Line ${number} is not a checkpoint.`);
    }
    const flag = replaced === undefined ? '' : `"replaced":${JSON.stringify(replaced)},`;
    const content = `{"at":${at},"key":"${key}","log":${JSON.stringify(log)},${flag}"root":"${root}","size":${size}}`;
    const known = this.keys.get(key);
    const wellFormed = typeof signature === 'string' && /^[0-9a-f]{128}$/.test(signature);
    if (
      !wellFormed ||
      known === undefined ||
      !verify(null, Buffer.from(content), known, Buffer.from(signature, 'hex'))
    ) {
      throw fault('BAD_SIGNATURE', size, 'A checkpoint has no valid signature.');
    }
    if (this.pinned.length > 0 && !this.pinned.some((pin) => pin.equals(known))) {
      throw fault('BAD_SIGNATURE', size, `A checkpoint is signed with another key than the given one: ${key}.`);
    }
    if (log !== this.log) throw fault('FORKED', size, 'A checkpoint is of another log.');
    this.checkpointCount++;
    if (size === this.count) this.compareRoot(value);
    else if (size < this.count) throw new Finding(`Line ${number}: the checkpoint at ${size} is out of order.`);
    else this.pendingCheckpoints.set(size, [...(this.pendingCheckpoints.get(size) ?? []), value]);
  }

  private compareRoot({ size, root }: Members): void {
    if (this.tree.root() !== root) {
      throw fault('FORKED', Number(size), 'The log had another root when a checkpoint was signed here.');
    }
    this.signedSize = Number(size);
  }

  private finish(): string {
    const { count, size, log } = this;
    if (count < size) throw fault('TRUNCATED', count + 1, `The manifest tells of ${size} records, ${count} are there.`);
    if (count > size) throw fault('INSERTED', size + 1, `The manifest tells of ${size} records, ${count} are there.`);
    const [pendingSize] = this.pendingCheckpoints.keys();
    if (pendingSize !== undefined)
      throw fault('TRUNCATED', count + 1, `There are ${count} records; ${pendingSize} were signed.`);
    if (this.tree.root() !== this.root) throw fault('FORKED', count, 'The manifest has another root.');
    const [erased] = this.unexplained;
    if (erased !== undefined) throw fault('PAYLOAD_ERASED', erased, 'The payload is gone and no record says why.');
    if (this.pinned.length > 0 && this.checkpointCount === 0)
      throw new Finding('No checkpoint is signed with the given key.');
    const unsignedCount = count - this.signedSize;
    if (unsignedCount > 0 && this.pinned.length > 0 && !this.allowUnsigned) {
      const detail = `The last ${unsignedCount} records are not signed; --allow-unsigned accepts them.`;
      throw fault('UNSIGNED', this.signedSize + 1, detail);
    }
    if (unsignedCount < this.unsigned)
      throw fault('FORKED', count, `The manifest tells of ${this.unsigned} unsigned records, ${unsignedCount} are.`);
    const tail = unsignedCount === 0 ? '' : `; ${unsignedCount} came after the last checkpoint and are not signed`;
    return `log ${log}: ${count} records, ${this.checkpointCount} checkpoints, root ${this.root}${tail}.`;
  }
}

/** The RFC 9162 tree: the complete subtrees at its right edge. */
class Tree {
  private readonly edge: { level: number; hash: Buffer }[] = [];

  add(leaf: Buffer): void {
    let node = { level: 0, hash: leaf };
    for (let last = this.edge.at(-1); last?.level === node.level; last = this.edge.at(-1)) {
      this.edge.pop();
      node = { level: node.level + 1, hash: join(last.hash, node.hash) };
    }
    this.edge.push(node);
  }

  root(): string {
    const hashes = this.edge.map((node) => node.hash);
    const last = hashes.pop() ?? createHash('sha256').digest();
    return hashes.reduceRight((right, left) => join(left, right), last).toString('hex');
  }
}

function join(left: Buffer, right: Buffer): Buffer {
  return createHash('sha256').update('\x01').update(left).update(right).digest();
}

/** Explains a record with too high a number: the expected record either comes later or not at all. */
async function explainGap(expected: number, feed: AsyncIterator<Line>): Promise<Finding> {
  for (let next = await feed.next(); next.done !== true; next = await feed.next()) {
    if (next.value.value.kind === 'record' && next.value.value.seq === expected) {
      return fault('REORDERED', expected, 'The record stands behind a later one.');
    }
  }
  return fault('MISSING', expected, 'The record is not there, though later ones are.');
}

const lineBytesMax = 64 * 1024 * 1024;

async function* readLines(path: string): AsyncIterable<Line> {
  let number = 0;
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      yield* parseLine(++number, Buffer.concat([...rest, chunk.subarray(from, end)]));
      [rest, restBytes, from] = [[], 0, end + 1];
    }
    rest.push(chunk.subarray(from));
    restBytes += chunk.length - from;
    if (restBytes > lineBytesMax) throw new Finding(`Line ${number + 1} is longer than ${lineBytesMax} bytes.`);
  }
  yield* parseLine(++number, Buffer.concat(rest));
}

function* parseLine(number: number, bytes: Buffer): Iterable<Line> {
  const text = bytes.toString('utf8').trim();
  if (text === '') return;
  const value = parseObject(text);
  if (value === undefined) throw new Finding(`Line ${number} is not a JSON object; the export is damaged or cut off.`);
  const allowed = members.get(value.kind);
  if (allowed === undefined) throw new Finding(`Line ${number} is not a manifest, a record or a checkpoint.`);
  const unknown = Object.keys(value).find((name) => !allowed.includes(name));
  if (unknown !== undefined) throw new Finding(`Line ${number} has a member that a ${String(value.kind)} has not.`);
  yield { number, value };
}

function parseObject(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    // The caller reports it.
    return undefined;
  }
}

function readPinned(key: string): KeyObject {
  const isFile = !key.startsWith('-----') && key.length < 1024 && existsSync(key);
  return parseKey((isFile ? readFileSync(key, 'utf8') : key).trim());
}

function parseKey(text: string): KeyObject {
  try {
    if (text.startsWith('-----')) return createPublicKey(text);
    return createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' });
  } catch {
    throw new Finding('A public key cannot be read: PEM or base64 SPKI is needed.');
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isHash(value: unknown): value is string {
  return typeof value === 'string' && hex64.test(value);
}

async function main(args: readonly string[]): Promise<number> {
  const keys: string[] = [];
  const files: string[] = [];
  let allowUnsigned = false;
  for (let index = 0; index < args.length; index++) {
    if (args[index] === '--key') keys.push(args[++index] ?? '');
    else if (args[index] === '--allow-unsigned') allowUnsigned = true;
    else files.push(args[index] ?? '');
  }
  const [file] = files;
  if (file === undefined || files.length > 1) {
    process.stderr.write('Usage: node verify.js FILE [--key PUB]… [--allow-unsigned]\n');
    return 1;
  }
  const report = await verifyExport(file, keys, { allowUnsigned });
  if (report.ok) process.stdout.write(`OK: ${report.message}\n`);
  else process.stderr.write(`BROKEN: ${report.message}\n`);
  return report.ok ? 0 : 1;
}

if (process.argv[1] !== undefined && existsSync(process.argv[1])) {
  if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
    void main(process.argv.slice(2)).then((code) => {
      process.exitCode = code;
    });
  }
}
