import { inject, injectable } from 'inversify';
import { Entropy } from '../../base/entropy.js';
import { IdSource } from '../../base/ids.js';
import { Listeners } from '../../base/listeners.js';
import { NodeIdentity } from '../../base/node-identity.js';
import type { Channel, WriteTx } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import type { NewAuditEntry } from '../audit-entry.js';
import { AuditRepository, type NewRecord, type StoredPayload } from '../audit-repository.js';
import { storeCompletedSubtrees, tileLeaves } from '../merkle/tiles.js';
import { hashesOfOpenTile, type OpenTile, openTileAfter } from './open-tile.js';
import { type EncodedEntry, encodeEntry, headerHash, headerText, zeroHash } from './record-encoding.js';

/** The log after a group of units has added records to it. */
export interface SealedRecords {
  readonly log: string;
  /** The seq of the last record, which is the number of records. */
  readonly size: number;
  /** The effects whose outcomes are among the records. */
  readonly endedEffects: readonly string[];
  readonly openTile: OpenTile;
}

/**
 * Writes the audit log: encodes records while their units run, and numbers and chains them when the group is sealed.
 */
@injectable()
export class AuditWriter implements Channel<EncodedEntry, SealedRecords> {
  private readonly salts: EffectSalts;
  private readonly listeners = new Listeners<[sealed: SealedRecords]>();
  private log: string | undefined;
  /** As the last commit of this writer has left it. */
  private openTile: OpenTile = { size: 0, hashes: [] };

  constructor(
    @inject(AuditRepository) private readonly repository: AuditRepository,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(Entropy) entropy: Entropy,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
  ) {
    this.salts = new EffectSalts(entropy);
  }

  /** An id for a record that others of its unit name before it is appended. */
  newId(): string {
    return this.ids.next('record');
  }

  /** Buffers one record in the unit and returns its id; the record is numbered, chained and stored with the group. */
  append(tx: WriteTx, entry: NewAuditEntry, id = this.newId()): string {
    const encoded = encodeEntry(id, this.node.nodeId, entry, () => this.salts.of(entry));
    const { effectId, outcome } = entry;
    tx.defer(this, effectId === undefined || outcome === 'intent' ? encoded : { ...encoded, endedEffect: effectId });
    return id;
  }

  /** Calls `listener` after each commit that added records. It must not throw. */
  onSealed(listener: (sealed: SealedRecords) => void): Disposable {
    return this.listeners.add(listener);
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
    const endedEffects: string[] = [];
    const turns = new Turns();
    for (const { body, bodyHash, payload, subject, endedEffect } of entries) {
      await turns.next();
      seq++;
      const header = headerText(bodyHash, logText, prev, seq);
      prev = headerHash(header);
      records.push(
        subject === undefined ? { seq, header, hash: prev, body } : { seq, header, hash: prev, body, subject },
      );
      if (payload !== undefined) payloads.push({ seq, salt: payload.salt, bytes: payload.bytes });
      if (endedEffect !== undefined) endedEffects.push(endedEffect);
    }
    await this.repository.insertRecords(tx, records);
    if (payloads.length > 0) await this.repository.insertPayloads(tx, payloads);
    const before = hashesOfOpenTile(this.openTile, from, head?.hash);
    const added = records.map(({ hash }) => hash);
    if (completesTile(from, seq)) {
      const hashes = before === undefined ? undefined : [...before, ...added];
      await storeCompletedSubtrees(tx, this.repository, { from, to: seq }, hashes);
    }
    return { log, size: seq, endedEffects, openTile: openTileAfter(from, before, added) };
  }

  committed(sealed: SealedRecords): void {
    this.log = sealed.log;
    this.openTile = sealed.openTile;
    this.salts.forget(sealed.endedEffects);
    this.listeners.notify(sealed);
  }

  /** Returns the id of the log; a log without one gets it here. */
  async openLog(tx: WriteTx): Promise<string> {
    const known = await this.repository.logId(tx);
    if (known !== undefined) return known;
    const created = this.ids.next('log');
    await this.repository.insertLogId(tx, created);
    return created;
  }
}

const saltBytes = 16;
const effectsMax = 10_000;

/**
 * One salt for the intent and the outcome of an effect, so that equal payloads have equal commitments. Remembered in
 * this node only, and for the newest effects: an outcome that another node records during recovery has its own salt.
 */
class EffectSalts {
  private readonly open = new Map<string, Buffer>();

  constructor(private readonly entropy: Entropy) {}

  of({ effectId, outcome }: NewAuditEntry): Buffer {
    if (effectId === undefined) return Buffer.from(this.entropy.bytes(saltBytes));
    const known = outcome === 'intent' ? undefined : this.open.get(effectId);
    const salt = known ?? Buffer.from(this.entropy.bytes(saltBytes));
    if (outcome === 'intent') this.remember(effectId, salt);
    return salt;
  }

  /** To be called when the outcomes are committed: until then their unit may be run again. */
  forget(effectIds: readonly string[]): void {
    for (const effectId of effectIds) this.open.delete(effectId);
  }

  private remember(effectId: string, salt: Buffer): void {
    const oldest = this.open.size < effectsMax ? undefined : this.open.keys().next().value;
    if (oldest !== undefined) this.open.delete(oldest);
    this.open.set(effectId, salt);
  }
}

/** Whether the records after `from`, up to `to`, complete a tile of the Merkle tree. */
function completesTile(from: number, to: number): boolean {
  return Math.floor(from / tileLeaves) < Math.floor(to / tileLeaves);
}
