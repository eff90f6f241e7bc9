import { inject, injectable } from 'inversify';
import { Entropy } from '../../base/entropy.js';
import { IdSource } from '../../base/ids.js';
import { NodeIdentity } from '../../base/node-identity.js';
import type { Channel, WriteTx } from '../../base/store.js';
import type { NewAuditEntry } from '../audit-entry.js';
import { AuditRepository, type NewRecord, type StoredPayload } from '../audit-repository.js';
import { storeCompleted } from '../merkle/tiles.js';
import { EffectSalts } from './effect-salts.js';
import { headerHash, zeroHash } from './hashing.js';
import { type EncodedEntry, encodeEntry, headerText } from './record-encoding.js';

/** What a group added to the log. */
export interface SealedRecords {
  readonly log: string;
  /** The seq of the last record: the size of the log. */
  readonly size: number;
}

/** Writes the log: encodes records while their units run, numbers and chains them when the group is sealed. */
@injectable()
export class AuditWriter implements Channel<EncodedEntry, SealedRecords> {
  private readonly salts: EffectSalts;
  private readonly listeners = new Set<(sealed: SealedRecords) => void>();
  private log: string | undefined;

  constructor(
    @inject(AuditRepository) private readonly repository: AuditRepository,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(Entropy) entropy: Entropy,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
  ) {
    this.salts = new EffectSalts(entropy);
  }

  /** Buffers one record in the unit and answers with its id; it is numbered, chained and stored with the group. */
  append(tx: WriteTx, entry: NewAuditEntry): string {
    const id = this.ids.next('record');
    tx.defer(
      this,
      encodeEntry(id, this.node.nodeId, entry, () => this.salts.of(entry)),
    );
    return id;
  }

  /** `listener` is told after each commit that added records. It must not throw. */
  onSealed(listener: (sealed: SealedRecords) => void): Disposable {
    this.listeners.add(listener);
    return { [Symbol.dispose]: () => void this.listeners.delete(listener) };
  }

  async seal(tx: WriteTx, entries: readonly EncodedEntry[]): Promise<SealedRecords> {
    const log = this.log ?? (await this.openLog(tx));
    const logText = JSON.stringify(log);
    const head = await this.repository.head(tx);
    const from = head?.seq ?? 0;
    let seq = from;
    let prev = head?.hash ?? zeroHash;
    const records: NewRecord[] = [];
    const payloads: StoredPayload[] = [];
    for (const { body, bodyHash, payload, subject } of entries) {
      seq++;
      const header = headerText(bodyHash, logText, prev, seq);
      prev = headerHash(header);
      records.push(
        subject === undefined ? { seq, header, hash: prev, body } : { seq, header, hash: prev, body, subject },
      );
      if (payload !== undefined) payloads.push({ seq, salt: payload.salt, bytes: payload.bytes });
    }
    await this.repository.insertRecords(tx, records);
    if (payloads.length > 0) await this.repository.insertPayloads(tx, payloads);
    await storeCompleted(tx, this.repository, { from, to: seq });
    return { log, size: seq };
  }

  committed(sealed: SealedRecords): void {
    this.log = sealed.log;
    for (const listener of this.listeners) listener(sealed);
  }

  /** The id of the log, given to it now when it has none. */
  async openLog(tx: WriteTx): Promise<string> {
    const known = await this.repository.logId(tx);
    if (known !== undefined) return known;
    const created = this.ids.next('log');
    await this.repository.insertLogId(tx, created);
    return created;
  }
}
