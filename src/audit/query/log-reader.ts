import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CapabilityId, Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import { type AuditRecord, decodeRecord } from '../audit-record.js';
import type { AuditRepository } from '../audit-repository.js';

const pageRows = 1_000;

/** Reads records of the log for one question. Records are given without their payloads. */
export class LogReader {
  private readonly bySubject = new Map<string, readonly AuditRecord[]>();
  private readonly states = new Map<Pid, AuditRecord | undefined>();
  private readonly changes = new Map<CapabilityId, readonly AuditRecord[]>();

  constructor(
    private readonly tx: ReadTx,
    private readonly repository: AuditRepository,
  ) {}

  /** The records that the index names for a process, in order. */
  async recordsAbout(pid: string): Promise<readonly AuditRecord[]> {
    const known = this.bySubject.get(pid);
    if (known !== undefined) return known;
    const records: AuditRecord[] = [];
    const turns = new Turns();
    for (const stored of await this.repository.recordsAbout(this.tx, pid)) {
      await turns.next();
      records.push(decodeRecord(stored, undefined));
    }
    this.bySubject.set(pid, records);
    return records;
  }

  /** The newest record that tells the status of a process. */
  async newestState(pid: Pid): Promise<AuditRecord | undefined> {
    if (!this.states.has(pid)) {
      const stored = await this.repository.newestState(this.tx, pid);
      this.states.set(pid, stored === undefined ? undefined : decodeRecord(stored, undefined));
    }
    return this.states.get(pid);
  }

  /** The transfers, the revocation and the last use of a capability, in order. */
  async changesOf(capability: CapabilityId): Promise<readonly AuditRecord[]> {
    const known = this.changes.get(capability);
    if (known !== undefined) return known;
    const stored = await this.repository.changesOf(this.tx, capability);
    const records = stored.map((record) => decodeRecord(record, undefined)).filter(({ outcome }) => outcome === 'ok');
    this.changes.set(capability, records);
    return records;
  }

  /** Reads the whole log, for what the index does not lead to; `isCandidate` sees the text of a body. */
  async scan(isCandidate: (body: string) => boolean, visit: (record: AuditRecord) => void): Promise<void> {
    for (let after = 0; ; ) {
      const page = await this.repository.recordsAfter(this.tx, after, pageRows);
      for (const stored of page) if (isCandidate(stored.body)) visit(decodeRecord(stored, undefined));
      const last = page.at(-1);
      if (last === undefined || page.length < pageRows) return;
      after = last.seq;
      await nextTurn();
    }
  }

  async withPayload(record: AuditRecord): Promise<AuditRecord> {
    const { seq } = record;
    if (record.payload === undefined) return record;
    const stored = await this.repository.find(this.tx, seq);
    const [payload] = await this.repository.payloads(this.tx, seq, seq);
    return stored === undefined ? record : decodeRecord(stored, payload);
  }
}
