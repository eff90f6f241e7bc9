import type { StoredPayload, StoredRecord } from '../audit-repository.js';
import { commitmentIn, commitmentOf } from '../writing/record-encoding.js';
import type { Fault } from './verify-report.js';

export const eraseAction = 'audit.erase';
const erasureStart = `{"action":"${eraseAction}",`;

/** Compares payloads with the commitments in the bodies, and missing payloads with the erasure records that follow. */
export class PayloadCheck {
  private page = new Map<number, StoredPayload>();
  private newest = 0;
  /** Records without their payload for which no erasure record was found yet. */
  private readonly unexplained = new Set<number>();
  private readonly erasedSeqs: number[] = [];

  /** The payloads of the records that are checked next. */
  load(payloads: readonly StoredPayload[]): void {
    this.page = new Map(payloads.map((payload) => [payload.seq, payload]));
  }

  check(record: StoredRecord): Fault | undefined {
    const { seq, body } = record;
    this.newest = seq;
    this.noteErasure(body);
    const commitment = commitmentIn(body);
    const payload = this.page.get(seq);
    if (payload === undefined) {
      if (commitment !== undefined) this.unexplained.add(seq);
      return undefined;
    }
    if (commitment !== undefined && commitmentOf(payload.salt, payload.bytes) === commitment) return undefined;
    return { seq, kind: 'EDITED', detail: `The payload of record ${seq} is not the one that its body commits to.` };
  }

  /** Looks for erasures that were recorded after the walk began; a missing payload without one is a fault. */
  async findUnexplained(recordsAfter: (after: number) => Promise<StoredRecord[]>): Promise<Fault | undefined> {
    while (this.unexplained.size > 0) {
      const records = await recordsAfter(this.newest);
      for (const { body } of records) this.noteErasure(body);
      const last = records.at(-1)?.seq;
      if (last === undefined) break;
      this.newest = last;
    }
    const [seq] = this.unexplained;
    if (seq === undefined) return undefined;
    return { seq, kind: 'PAYLOAD_ERASED', detail: `The payload of record ${seq} is gone and no record says why.` };
  }

  erasedRecords(): number[] {
    return this.erasedSeqs.toSorted((a, b) => a - b);
  }

  private noteErasure(body: string): void {
    if (this.unexplained.size === 0 || !body.startsWith(erasureStart)) return;
    const target = erasureTarget(body);
    if (target !== undefined && this.unexplained.delete(target)) this.erasedSeqs.push(target);
  }
}

function erasureTarget(body: string): number | undefined {
  try {
    const { outcome, target } = JSON.parse(body) as { outcome?: unknown; target?: unknown };
    return outcome === 'ok' && typeof target === 'string' ? Number(target) : undefined;
  } catch {
    // A body that cannot be read erases nothing.
    return undefined;
  }
}
