import { inject, injectable } from 'inversify';
import type { z } from 'zod';
import { CapabilityError, InputError, invalidInput, KernelError, ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { canonicalJson, type JsonObject, type JsonValue, sha256Hex } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import { Authorizer } from '../../capability/decision/authorizer.js';
import { plainQuestion, type Question } from '../../capability/decision/question.js';
import { parseRequest } from '../../capability/resource/resource.js';
import { type Act, signallerOf } from '../../unit/act.js';
import type { Call, Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { ProcessEnds } from '../lifecycle/process-ends.js';
import { InboxChecks } from '../message/inbox-checks.js';
import { isTerminal, type ProcessRow, pauserOf } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository, saveProcess } from '../process/process-repository.js';
import { assertTransition, nextState, type ProcessEvent } from '../process/transitions.js';
import { isUserSignal, type Refusal, type SignalName, type SignalReport, type UserSignal } from '../signal/signal.js';
import { SignalRepository } from '../signal/signal-repository.js';
import { SignalTargets, type Target } from '../signal/signal-targets.js';
import { SignalledCommands, type UnreachableCommands } from '../signal/signalled-commands.js';
import { parse, parsePid, signalName, signalOptions, signalScope } from '../specs.js';
import { Waker } from '../waiting/waker.js';

type Options = z.output<typeof signalOptions>;

/** Sends a signal to a process, its subtree, or everything that a scope selects, in one unit. */
@injectable()
export class Signal {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(SignalTargets) private readonly targets: SignalTargets,
    @inject(SignalledCommands) private readonly commands: SignalledCommands,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(SignalRepository) private readonly signals: SignalRepository,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(Authorizer) private readonly authorizer: Authorizer,
    @inject(ProcessEnds) private readonly processEnds: ProcessEnds,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Waker) private readonly waker: Waker,
    @inject(InboxChecks) private readonly checks: InboxChecks,
  ) {}

  /**
   * Throws NO_SUCH_PROCESS for an unknown pid, INVALID_INPUT for an unknown signal, an empty scope, or a payload that does
   * not fit the schema of the one process that is named.
   */
  async run(caller: Caller, rawTarget: unknown, name: unknown, rawOptions: unknown = {}): Promise<SignalReport> {
    const target = caller.face === 'process' ? parsePid(rawTarget, 'child') : parseTarget(rawTarget);
    const signal = parse(signalName, name, 'signal');
    const options = parse(signalOptions, rawOptions, 'options');
    if (isUserSignal(signal) && options.tree === true) throw userSignalToTree();
    const misfits = isUserSignal(signal) ? await this.findMisfits(caller, target, signal, options) : noMisfits;
    const sent = { target, signal, options, misfits };
    return this.commands.inspectFor((unreachable) => this.send(caller, sent, unreachable));
  }

  private send(caller: Caller, sent: SentSignal, known: UnreachableCommands): Promise<SignalReport> {
    const { target, signal, options } = sent;
    const isUser = isUserSignal(signal);
    const call: Call = { caller, actor: 'host', action: isUser ? 'process.signal' : `process.${signal}` };
    return this.units.commit({ ...call, ...(typeof target === 'string' ? { target } : {}) }, async (tx, plainAct) => {
      const act = await this.authorize(tx, caller, plainAct, target, signal);
      const hash = sha256Hex(canonicalJson({ target, signal, options } as JsonValue));
      const earlierReport = await this.findReceipt(tx, options.id, hash);
      if (earlierReport !== undefined) return earlierReport;
      const matched = await this.targets.match(tx, target, options.tree ?? !isUser);
      const live = matched.filter(({ status }) => !isTerminal(status));
      // A user signal is for bodies: it goes to no OS process.
      const unreachable = await this.commands.assertInspected(tx, isUser ? [] : live, known);
      const { delivered, unchanged = [], refused } = await this.deliver(tx, act, live, sent);
      const report: SignalReport = {
        matched: matched.length,
        delivered: delivered.flatMap(({ pid }) => (unreachable.has(pid) ? [] : [pid])),
        unchanged: unchanged.map(({ pid }) => pid),
        alreadyTerminal: matched.filter(({ status }) => isTerminal(status)).map(({ pid }) => pid),
        refused,
        stale: delivered.flatMap(({ pid }) => (unreachable.get(pid) === 'stale' ? [pid] : [])),
        unavailable: delivered.flatMap(({ pid }) => (unreachable.get(pid) === 'unavailable' ? [pid] : [])),
      };
      if (options.id !== undefined) {
        await this.signals.insertReceipt(tx, options.id, { hash, report: report as object as JsonObject });
      }
      return report;
    });
  }

  private findMisfits(caller: Caller, target: Target, signal: UserSignal, { payload = null }: Options) {
    const isProcess = caller.face === 'process' && typeof target === 'string';
    const question = isProcess ? questionOf(caller.pid, target, signal) : undefined;
    return this.checks.findMisfits(target, signal, payload, question);
  }

  /**
   * The act with the authority by which a process signals: as the parent of the target, or by a capability on it. A target
   * that does not exist is refused like one that is no child. Throws NOT_A_CHILD, CAPABILITY_DENIED where a rule forbids
   * it, PROCESS_TERMINATED, ApprovalNeeded.
   */
  private async authorize(tx: WriteTx, caller: Caller, act: Act, target: Target, signal: string): Promise<Act> {
    if (caller.face === 'host' || typeof target !== 'string') return act;
    const { pid } = caller;
    await this.lookup.getLive(tx, pid);
    try {
      const { capability, approval } = await this.authorizer.authorize(tx, act, questionOf(pid, target, signal));
      return { ...act, capability, ...(approval === undefined ? {} : { approval }) };
    } catch (error) {
      throw isUnheld(error) ? notSignallable(pid, target) : error;
    }
  }

  private async findReceipt(tx: ReadTx, id: string | undefined, hash: string): Promise<SignalReport | undefined> {
    const receipt = id === undefined ? undefined : await this.signals.findReceipt(tx, id);
    if (receipt === undefined) return undefined;
    if (receipt.hash !== hash) throw signalIdTaken(id ?? '');
    // A receipt of an older version has fewer members.
    const older = { unchanged: [], stale: [], unavailable: [] };
    return { ...older, ...(receipt.report as object as SignalReport) };
  }

  private async deliver(
    tx: WriteTx,
    act: Act,
    rows: readonly ProcessRow[],
    { target, signal, options, misfits }: SentSignal,
  ): Promise<Delivery> {
    if (isUserSignal(signal)) {
      const { delivered, refused } = splitByFit(rows, misfits, target);
      const turns = new Turns();
      for (const row of delivered) {
        await turns.next();
        await this.pushUserSignal(tx, act, row, signal, options);
      }
      return { delivered, refused };
    }
    switch (signal) {
      case 'pause':
        return this.change(tx, act, splitForPause(rows, signallerOf(act)), signal, options);
      case 'resume':
        return this.change(tx, act, splitForResume(rows, signallerOf(act), target), signal, options);
      case 'cancel': {
        const { delivered, refused } = splitByTransition(rows, 'stop');
        const order = { kind: 'cancelled', by: act.actor, ...reasonOf(options) } as const;
        const { graceMs } = options;
        await this.processEnds.stop(tx, act, { rows: delivered, order, graceMs, action: 'process.cancel' });
        return { delivered, refused };
      }
      case 'kill':
        await this.processEnds.kill(tx, act, rows, { kind: 'killed', by: act.actor, ...reasonOf(options) });
        return { delivered: rows, refused: [] };
    }
  }

  private async change(
    tx: WriteTx,
    act: Act,
    delivery: Delivery,
    signal: 'pause' | 'resume',
    { reason }: Options,
  ): Promise<Delivery> {
    const turns = new Turns();
    const records = new Map<Pid, string>();
    for (const row of delivery.delivered) {
      await turns.next();
      const next = { ...(signal === 'pause' ? pausedRow(row, act) : nextState(row, 'resume')), updatedAt: act.at };
      await saveProcess(this.processes, tx, next);
      const change = {
        action: `process.${signal}`,
        before: row.status,
        after: next.status,
        ...(reason === undefined ? {} : { payload: { reason } }),
        lineage: true,
        cause: row.parent === null ? undefined : records.get(row.parent),
      } as const;
      const record =
        signal === 'pause'
          ? this.recorder.record(tx, act, next, { event: 'process.paused', data: { previous: row.status }, ...change })
          : this.recorder.record(tx, act, next, { event: 'process.resumed', data: { status: next.status }, ...change });
      records.set(row.pid, record);
    }
    return delivery;
  }

  private async pushUserSignal(
    tx: WriteTx,
    act: Act,
    row: ProcessRow,
    signal: string,
    options: Options,
  ): Promise<void> {
    const { payload = null } = options;
    const record = this.recorder.newRecordId();
    const ordinal = await this.signals.push(tx, row.pid, { name: signal, at: act.at, payload, record });
    this.recorder.record(tx, act, row, {
      event: 'process.signalled',
      data: { signal, ordinal },
      action: 'process.signal',
      facts: { signal, ordinal },
      ...(payload === null ? {} : { payload: { payload } }),
      lineage: true,
      record,
    });
    await this.waker.wake(tx, { ...act, cause: record }, row.pid, `signal:${signal}`);
  }
}

/** A signal with its target and options, as they were parsed. */
interface SentSignal {
  readonly target: Target;
  readonly signal: SignalName;
  readonly options: Options;
  /** The refusals of the payload of a user signal, by image. */
  readonly misfits: ReadonlyMap<string, KernelError>;
}

const noMisfits: ReadonlyMap<string, KernelError> = new Map();

interface Delivery {
  readonly delivered: readonly ProcessRow[];
  readonly unchanged?: readonly ProcessRow[];
  readonly refused: Refusal[];
}

/** Throws INVALID_INPUT where the one process that is named is of an image that the payload does not fit. */
function splitByFit(rows: readonly ProcessRow[], misfits: ReadonlyMap<string, KernelError>, target: Target): Delivery {
  const refused: Refusal[] = [];
  const delivered = rows.filter(({ pid, image }) => {
    const misfit = misfits.get(image);
    if (misfit === undefined) return true;
    if (pid === target) throw misfit;
    refused.push({ pid, code: misfit.code, message: misfit.message, facts: misfit.facts });
    return false;
  });
  return { delivered, refused };
}

/** What is paused stays as it is, unless the host takes over a pause that a process made. */
function splitForPause(rows: readonly ProcessRow[], by: Pid | 'host'): Delivery {
  const isUnchanged = (row: ProcessRow) => row.status === 'paused' && (by !== 'host' || pauserOf(row) === 'host');
  const takenOver = rows.filter((row) => row.status === 'paused' && !isUnchanged(row));
  const { delivered, refused } = splitByTransition(
    rows.filter(({ status }) => status !== 'paused'),
    'pause',
  );
  const changed = new Set([...takenOver, ...delivered]);
  return { delivered: rows.filter((row) => changed.has(row)), unchanged: rows.filter(isUnchanged), refused };
}

/** What is not paused stays as it is. Throws CAPABILITY_DENIED where a process names one that the host paused. */
function splitForResume(rows: readonly ProcessRow[], by: Pid | 'host', target: Target): Delivery {
  const delivered: ProcessRow[] = [];
  const refused: Refusal[] = [];
  for (const row of rows.filter(({ status }) => status === 'paused')) {
    if (by === 'host' || pauserOf(row) !== 'host') {
      delivered.push(row);
      continue;
    }
    const { code, message, facts } = pausedByHost(row.pid);
    if (row.pid === target) throw pausedByHost(row.pid);
    refused.push({ pid: row.pid, code, message, facts });
  }
  return { delivered, unchanged: rows.filter(({ status }) => status !== 'paused'), refused };
}

/** The row after a pause, or after the host has taken over a pause. */
function pausedRow(row: ProcessRow, act: Act): ProcessRow {
  const paused = row.status === 'paused' ? { ...row, version: row.version + 1 } : nextState(row, 'pause');
  return { ...paused, pausedBy: signallerOf(act) };
}

/** Separates the rows whose status allows `event` from the others, which get a refusal. */
function splitByTransition(
  rows: readonly ProcessRow[],
  event: ProcessEvent,
): { delivered: ProcessRow[]; refused: Refusal[] } {
  const delivered: ProcessRow[] = [];
  const refused: Refusal[] = [];
  for (const row of rows) {
    try {
      assertTransition(row, event);
      delivered.push(row);
    } catch (error) {
      if (!(error instanceof KernelError)) throw error;
      refused.push({ pid: row.pid, code: error.code, message: error.message });
    }
  }
  return { delivered, refused };
}

function reasonOf({ reason }: Options): { reason?: string } {
  return reason === undefined ? {} : { reason };
}

function parseTarget(target: unknown): Target {
  if (typeof target === 'string') return parsePid(target, 'target');
  const scope = parse(signalScope, target, 'target');
  const selectors = Object.values(scope).flatMap((value) => (typeof value === 'object' ? Object.keys(value) : [value]));
  if (selectors.length > 0) return scope;
  throw new InputError('INVALID_INPUT', 'The scope is empty: it would reach every process.', {
    facts: { path: 'target', problem: 'the scope is empty' },
    hint: 'Name at least one selector, such as { owner: { session } } or { tree: pid }.',
  });
}

function questionOf(pid: Pid, target: Pid, signal: string): Question {
  return plainQuestion(pid, 'signal', parseRequest(`process:${target}`), { signal });
}

function isUnheld(error: unknown): boolean {
  return error instanceof CapabilityError && error.facts.code !== 'DENY_RULE';
}

function pausedByHost(pid: Pid): CapabilityError {
  return new CapabilityError('CAPABILITY_DENIED', `Process ${pid} was paused by the host: only the host resumes it.`, {
    facts: { pid, pausedBy: 'host' },
    hint: 'Whoever runs the kernel can resume it; what a process paused, a process that may signal it can resume.',
  });
}

function notSignallable(pid: Pid, child: Pid): ProcessError {
  return new ProcessError('NOT_A_CHILD', `Process ${pid} has no child ${JSON.stringify(child)}.`, {
    facts: { pid, child },
    hint: 'A process signals its own children, and those that it holds the right "signal" on.',
  });
}

function userSignalToTree(): InputError {
  return invalidInput(
    'options.tree',
    'a user signal goes to its target only',
    'Use a scope to reach several processes.',
  );
}

function signalIdTaken(id: string): ProcessError {
  return new ProcessError('CONFLICT', `A different signal was sent with the id ${JSON.stringify(id)}.`, {
    facts: { id },
    hint: 'Use a new id for a new signal.',
  });
}
