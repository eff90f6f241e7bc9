import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { ProcessError, StoreError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { type ReadTx, Store, type WriteTx } from '../../base/store.js';
import { maskOfRights, type Right } from '../../capability/resource/rights.js';
import { RuleGate } from '../../capability/rule/rule-gate.js';
import type { ObjectHandle } from '../../memory/object/object.js';
import { Views } from '../../memory/view/views.js';
import type { Act } from '../../unit/act.js';
import { type Call, type Caller, hostCaller, isBody, timeLimitOf } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import type { ProcessResult, ProcessRow } from '../process/process.js';
import { noSuchProcess, ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository } from '../process/process-repository.js';
import { ProcessResults } from '../process/process-results.js';
import { parse, parsePid, pidList, waitOptions } from '../specs.js';
import { ExitFollowUps } from '../waiting/exit-follow-ups.js';
import { ExitWait, waitTimeout } from '../waiting/exit-wait.js';
import { notAChild, ProcessRights } from '../waiting/process-rights.js';
import type { WaitLimits } from '../waiting/process-watch.js';
import { WaitRepository } from '../waiting/wait-repository.js';

/** wait, waitAny, waitAll and result. A wait changes no status by itself; it ends with the child or the waiter. */
@injectable()
export class Wait {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Units) private readonly units: Units,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(WaitRepository) private readonly waits: WaitRepository,
    @inject(ProcessResults) private readonly results: ProcessResults,
    @inject(Views) private readonly views: Views,
    @inject(RuleGate) private readonly rules: RuleGate,
    @inject(ProcessRights) private readonly rights: ProcessRights,
    @inject(ExitWait) private readonly exits: ExitWait,
    @inject(ExitFollowUps) private readonly followUps: ExitFollowUps,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** Resolves when the child has ended. Throws NOT_A_CHILD, WAIT_CYCLE, WAIT_TIMEOUT, CANCELLED, PROCESS_TERMINATED. */
  async waitOne(caller: Caller, input: unknown, rawChild: unknown, options: unknown = {}): Promise<ProcessResult> {
    const pid = parsePid(input);
    const child = parsePid(rawChild, 'child');
    const { keep = true, ...limits } = parse(waitOptions, options, 'options');
    const call: Call = { caller, actor: pid, action: 'process.wait', target: child };
    await this.units.read(call, async (tx) => {
      const isChild = await this.assertWaitable(tx, caller, pid, child);
      if (isChild) await this.checkRules(tx, caller, pid, [child], this.clock.peek());
    });
    const held = heldCall([child], limits);
    const reap = () => this.reapOne({ ...call, ...held }, pid, child, keep);
    const wait = () => this.exits.waitUntil(caller, new Set([child]), 1, pid, limits);
    if (isBody(caller)) return this.answerWithEnd(child, wait, reap);
    await wait();
    return reap();
  }

  /** Queues the answer with the end of the child, so that both are in one commit where they can be. */
  private async answerWithEnd<T>(child: Pid, wait: () => Promise<unknown>, reap: () => Promise<T>): Promise<T> {
    let early: Promise<T> | undefined;
    using _followUp = this.followUps.add(child, () => {
      early = reap();
      early.catch(() => undefined);
    });
    try {
      await wait();
    } catch (error) {
      // An answer that is journalled holds, although the wait was given up meanwhile.
      return early?.catch(() => Promise.reject(error)) ?? Promise.reject(error);
    }
    if (early === undefined) return reap();
    return early.catch((error: unknown) => {
      if (error instanceof StoreError) return reap();
      throw error;
    });
  }

  /** The first that ended. Without a list: of the children that no wait has returned. Throws NO_CHILDREN, as waitOne. */
  async waitAny(caller: Caller, input: unknown, rawChildren: unknown, options: unknown = {}): Promise<ProcessResult> {
    const pid = parsePid(input);
    const { keep = true, ...limits } = parse(waitOptions, options, 'options');
    const children = await this.findAwaited(caller, pid, rawChildren);
    if (children.length === 0) throw noChildren(pid);
    const held = heldCall(children, limits);
    const [first] = await this.exits.waitUntil(caller, new Set(children), 1, pid, limits);
    const target = (first as ProcessRow).pid;
    return this.reapOne({ caller, actor: pid, action: 'process.wait', target, ...held }, pid, target, keep);
  }

  /** All of them, in the order of the list. Throws as waitAny. */
  async waitAll(caller: Caller, input: unknown, rawChildren: unknown, options: unknown = {}): Promise<ProcessResult[]> {
    const pid = parsePid(input);
    const { keep = true, ...limits } = parse(waitOptions, options, 'options');
    const children = await this.findAwaited(caller, pid, rawChildren);
    if (children.length === 0 && rawChildren === undefined) throw noChildren(pid);
    const distinct = new Set(children);
    const held = heldCall(distinct, limits);
    await this.exits.waitUntil(caller, distinct, distinct.size, pid, limits);
    return this.units.commit({ caller, actor: pid, action: 'process.wait', ...held }, async (tx, act) => {
      const results: ProcessResult[] = [];
      for (const child of children) results.push(await this.reap(tx, act, pid, child, keep));
      return results;
    });
  }

  /** For the host: waits for any process, and marks none as returned by a wait. */
  async waitResult(input: unknown, options: unknown = {}): Promise<ProcessResult> {
    const pid = parsePid(input);
    const limits = parse(waitOptions, options, 'options');
    await this.store.read((tx) => this.lookup.get(tx, pid));
    await this.exits.waitUntil(hostCaller, new Set([pid]), 1, undefined, limits);
    return this.store.read(async (tx) => {
      const row = await this.lookup.get(tx, pid);
      return (await this.results.resultOf(tx, row, 'host', this.clock.peek())) as ProcessResult;
    });
  }

  private async findAwaited(caller: Caller, pid: Pid, rawChildren: unknown): Promise<Pid[]> {
    const listed = rawChildren === undefined ? undefined : parse(pidList, rawChildren, 'children');
    return this.units.read({ caller, actor: pid, action: 'process.wait' }, async (tx) => {
      await this.lookup.getLive(tx, pid);
      if (listed === undefined) {
        const unreaped = await this.waits.findUnreaped(tx, pid);
        await this.checkRules(tx, caller, pid, unreaped, this.clock.peek());
        return unreaped;
      }
      const children: Pid[] = [];
      for (const child of listed) if (await this.assertWaitable(tx, caller, pid, child)) children.push(child);
      await this.checkRules(tx, caller, pid, children, this.clock.peek());
      return listed;
    });
  }

  /** Whether it is a child; another one needs the right `wait`. Throws NOT_A_CHILD, WAIT_CYCLE. */
  private async assertWaitable(tx: ReadTx, caller: Caller, pid: Pid, child: Pid): Promise<boolean> {
    await this.lookup.getLive(tx, pid);
    if (child === pid) throw waitForAncestor(pid, child);
    const row = await this.processes.find(tx, child);
    if (row?.parent === pid) return true;
    if (row === undefined && caller.face === 'host') throw noSuchProcess(child);
    const ancestors = row === undefined ? [] : await this.processes.findAncestors(tx, pid);
    if (ancestors.some((ancestor) => ancestor.pid === child)) throw waitForAncestor(pid, child);
    await this.rights.preview(tx, { via: caller.face, at: this.clock.peek() }, pid, 'wait', child);
    if (row === undefined) throw notAChild(pid, child);
    return false;
  }

  private checkRules(tx: ReadTx, { face }: Caller, pid: Pid, children: Pid[], at: number): Promise<void> {
    const resources = children.map((child) => `process:${child}`);
    return this.rules.preview(tx, { via: face, at }, pid, 'wait', resources);
  }

  private reapOne(call: Call, pid: Pid, child: Pid, keep: boolean): Promise<ProcessResult> {
    return this.units.commit(call, (tx, act) => this.reap(tx, act, pid, child, keep));
  }

  /** The result of a child that has ended. With `keep` the result object is in the view of its parent from now on. */
  private async reap(tx: WriteTx, act: Act, pid: Pid, child: Pid, keep: boolean): Promise<ProcessResult> {
    const waiter = await this.lookup.getLive(tx, pid);
    const row = await this.lookup.get(tx, child);
    if (row.parent !== pid) return this.rights.collect(tx, act, waiter, row);
    const approval = await this.rules.check(tx, act, pid, 'wait', `process:${child}`);
    const result = (await this.results.resultOf(tx, row, pid, act.at)) as ProcessResult;
    if (!(await this.waits.isReaped(tx, row))) {
      await this.waits.reap(tx, row);
      this.recorder.record(tx, act, row, {
        event: 'process.waited',
        data: { by: pid },
        action: 'process.wait',
        capability: 'kin',
        approval,
        facts: { result: row.result, reading: result.result?.capability ?? null },
      });
    }
    if (keep && result.result !== undefined) await this.addToView(tx, act, waiter, result.result);
    return result;
  }

  /** Puts a result into the view of the process that waited for it, unless it is there. */
  private async addToView(tx: WriteTx, act: Act, waiter: ProcessRow, result: ObjectHandle): Promise<void> {
    const { id: object, capability } = result;
    const view = await this.views.find(tx, waiter.view);
    const entry = { object, capability, rights: maskOfRights(result.rights as Right[]) };
    if (view === undefined || !(await this.views.add(tx, view, entry, act.at))) return;
    const data = { object, isThere: true };
    const action = 'memory.addToView';
    this.recorder.record(tx, act, waiter, { event: 'view.changed', data, action, capability, facts: { object } });
  }
}

/** The limits of a wait, which go on while its answer is held back by a pause. */
function heldCall(children: Iterable<Pid>, { timeoutMs, signal }: WaitLimits): Pick<Call, 'signal' | 'timeLimit'> {
  return { signal, timeLimit: timeLimitOf(timeoutMs, (facts) => waitTimeout(children, timeoutMs ?? 0, facts)) };
}

function waitForAncestor(pid: Pid, child: Pid): ProcessError {
  return new ProcessError('WAIT_CYCLE', `Process ${pid} cannot wait for ${child}: it is itself or stands above it.`, {
    facts: { pid, child, cycle: pid === child ? [pid] : [pid, child] },
    hint: 'Wait for a child, or for a process that does not stand above.',
  });
}

function noChildren(pid: Pid): ProcessError {
  return new ProcessError('NO_CHILDREN', `Process ${pid} has no child left to wait for.`, {
    facts: { pid },
    hint: 'Every child has been waited for; name one to get its result again.',
  });
}
