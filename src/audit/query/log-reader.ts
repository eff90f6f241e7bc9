import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ReadTx } from '../../base/store.js';
import { type AuditRecord, decodeRecord } from '../audit-record.js';
import type { AuditRepository } from '../audit-repository.js';

const pageRows = 1_000;

/** Reads records of the log for one question. Records are given without their payloads. */
export class LogReader {
  private readonly bySubject = new Map<string, readonly AuditRecord[]>();

  constructor(
    private readonly tx: ReadTx,
    private readonly repository: AuditRepository,
  ) {}

  /** The records that the index names for a process, in order. */
  async recordsAbout(pid: string): Promise<readonly AuditRecord[]> {
    const known = this.bySubject.get(pid);
    if (known !== undefined) return known;
    const records = (await this.repository.recordsAbout(this.tx, pid)).map((stored) => decodeRecord(stored, undefined));
    this.bySubject.set(pid, records);
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
    const stored = await this.repository.find(this.tx, seq);
    const [payload] = await this.repository.payloads(this.tx, seq, seq);
    return stored === undefined ? record : decodeRecord(stored, payload);
  }
}
