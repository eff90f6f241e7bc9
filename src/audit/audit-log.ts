import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Clock, type KernelClock } from '../base/clock.js';
import { KernelError } from '../base/errors.js';
import type { ObjectId, Pid } from '../base/ids.js';
import { NodeIdentity } from '../base/node-identity.js';
import type { Page } from '../base/page.js';
import { amount, parseSpec, reasonText } from '../base/spec.js';
import { Store } from '../base/store.js';
import { alreadyErased, noPayload, noSuchRecord } from './audit-errors.js';
import { type AuditFilter, parseAuditFilter } from './audit-filter.js';
import { type AuditRecord, decodeRecord } from './audit-record.js';
import { AuditRepository } from './audit-repository.js';
import { type Checkpoint, checkpointSchema } from './checkpoint/checkpoint.js';
import { Checkpoints } from './checkpoint/checkpoints.js';
import { AuditProofs } from './merkle/audit-proofs.js';
import type { ConsistencyProof, InclusionProof } from './merkle/merkle-proof.js';
import { type ExportOptions, exportLines } from './query/audit-export.js';
import { AuthorityQuery, type AuthorityTrace } from './query/authority-trace.js';
import { type Lineage, LineageQuery } from './query/lineage.js';
import { type ProvenanceGraph, ProvenanceQuery } from './query/provenance.js';
import { listRecords } from './query/record-pages.js';
import { AuditVerifier, type VerifyOptions } from './verify/audit-verifier.js';
import { eraseAction } from './verify/payload-check.js';
import type { VerifyReport } from './verify/verify-report.js';
import { AuditWriter } from './writing/audit-writer.js';
import { commitmentIn } from './writing/record-encoding.js';

const seqSchema = amount.min(1);
const verifySchema = z.strictObject({ from: seqSchema.exactOptional(), checkpoint: checkpointSchema.exactOptional() });
const proveSchema = z.strictObject({ size: amount.exactOptional() });
const exportSchema = z.strictObject({ payloads: z.boolean().exactOptional() });

/** Errors of signing that do not prevent an export: the verifier reports how much of the log is signed. */
const unsignableCodes: ReadonlySet<string> = new Set(['STORE_READONLY', 'AUDIT_BROKEN']);

/** Reads, verifies and exports the audit log: `kernel.audit`. */
@injectable()
export class AuditLog {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(AuditRepository) private readonly repository: AuditRepository,
    @inject(AuditWriter) private readonly writer: AuditWriter,
    @inject(AuditVerifier) private readonly verifier: AuditVerifier,
    @inject(AuditProofs) private readonly proofs: AuditProofs,
    @inject(Checkpoints) private readonly checkpoints: Checkpoints,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(LineageQuery) private readonly lineages: LineageQuery,
    @inject(AuthorityQuery) private readonly authorities: AuthorityQuery,
    @inject(ProvenanceQuery) private readonly provenances: ProvenanceQuery,
  ) {}

  /**
   * Lists matching records, oldest first unless asked otherwise. A page is empty only where nothing follows. Throws
   * INVALID_INPUT.
   *
   * @example await kernel.audit.list({ actor: pid, outcome: 'refused', limit: 10 })
   */
  async list(filter: AuditFilter = {}): Promise<Page<AuditRecord>> {
    return listRecords(this.store, this.repository, parseAuditFilter(filter));
  }

  /** Throws NO_SUCH_RECORD, INVALID_INPUT. */
  async get(seq: number): Promise<AuditRecord> {
    const parsedSeq = parseSpec(seqSchema, seq, 'seq');
    return this.store.read(async (tx) => {
      const record = await this.repository.find(tx, parsedSeq);
      if (record === undefined) throw noSuchRecord(parsedSeq);
      const [payload] = await this.repository.payloads(tx, parsedSeq, parsedSeq);
      return decodeRecord(record, payload);
    });
  }

  /** Recomputes the log and reports the first record that was changed. Throws INVALID_INPUT. */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    return this.verifier.verify(parseSpec(verifySchema, options, 'options'));
  }

  /** Returns the origin of a process, its capabilities and its history. Throws NO_SUCH_PROCESS. */
  async lineage(pid: Pid): Promise<Lineage> {
    return this.lineages.lineage(pid);
  }

  /**
   * Returns the authority of a recorded call: the capability that was used, up to the root grant. Throws
   * NO_SUCH_RECORD.
   */
  async authority(seq: number): Promise<AuthorityTrace> {
    return this.authorities.trace(await this.get(seq));
  }

  /** Returns the graph of objects that an object was made from, with their authors. Throws NO_SUCH_OBJECT. */
  async provenance(object: ObjectId): Promise<ProvenanceGraph> {
    return this.provenances.provenance(object);
  }

  /** Signs the head of the log. Throws AUDIT_BROKEN, SIGNER_FAILED, KEY_UNREADABLE, STORE_*. */
  async checkpoint(): Promise<Checkpoint> {
    return this.checkpoints.take();
  }

  /**
   * Proves that a record is in the log, by default as of the newest checkpoint. Throws NO_SUCH_RECORD, INVALID_INPUT.
   */
  async prove(seq: number, options: { readonly size?: number } = {}): Promise<InclusionProof> {
    const { size } = parseSpec(proveSchema, options, 'options');
    return this.proofs.inclusion(parseSpec(seqSchema, seq, 'seq'), size);
  }

  /** Proves that the log of size `b` begins with the whole log of size `a`. Throws INVALID_INPUT. */
  async proveConsistency(a: number, b: number): Promise<ConsistencyProof> {
    return this.proofs.consistency(parseSpec(amount, a, 'a'), parseSpec(amount, b, 'b'));
  }

  /**
   * Yields the log as JSON Lines, each with its line end. Signs the log first and yields what was signed; where the kernel
   * only reads, or the log is broken, the manifest tells how many records at its end are not signed.
   *
   * @example for await (const line of kernel.audit.export()) file.write(line);
   */
  async *export(options: ExportOptions = {}): AsyncIterable<string> {
    const parsed = parseSpec(exportSchema, options, 'options');
    const signed = await this.checkpoints.take().catch((error: unknown) => {
      if (!(error instanceof KernelError && unsignableCodes.has(error.code))) throw error;
    });
    yield* exportLines(this.store, this.repository, { ...parsed, size: signed?.size });
  }

  /**
   * Deletes the resource and payload of a record; its body, its hash and every proof stay valid, and a new record tells
   * of the erasure. Throws NO_SUCH_RECORD, NO_PAYLOAD, ALREADY_ERASED, INVALID_INPUT.
   */
  async erase(seq: number, reason: string): Promise<void> {
    const parsedSeq = parseSpec(seqSchema, seq, 'seq');
    const parsedReason = parseSpec(reasonText, reason, 'reason');
    await this.store.write(async (tx) => {
      const record = await this.repository.find(tx, parsedSeq);
      if (record === undefined) throw noSuchRecord(parsedSeq);
      if (commitmentIn(record.body) === undefined) throw noPayload(parsedSeq);
      if (!(await this.repository.deletePayload(tx, parsedSeq))) throw alreadyErased(parsedSeq);
      this.writer.append(tx, {
        actor: 'host',
        via: `host:${this.node.operator}`,
        action: eraseAction,
        outcome: 'ok',
        at: this.clock.now(),
        target: String(parsedSeq),
        payload: { reason: parsedReason },
      });
    });
  }
}
