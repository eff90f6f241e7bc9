import { type ReadTx, Store, type WriteTx } from '../../../src/base/store.js';
import { ApprovalRepository } from '../../../src/capability/approval/approval-repository.js';
import { CapabilityRepository } from '../../../src/capability/holding/capability-repository.js';
import { RuleRepository } from '../../../src/capability/rule/rule-repository.js';
import type { Kernel, Pid } from '../../../src/index.js';
import type { ProcessRow } from '../../../src/kernel/process/process.js';
import { ProcessRepository } from '../../../src/kernel/process/process-repository.js';
import type { ReferenceProcess, ReferenceWorld } from '../../capability/reference-evaluator.js';
import type { World } from './random-worlds.js';

/** Puts worlds into the store of a kernel, row by row and past the kernel, and takes them out again. */
export class WorldStore {
  private readonly store: Store;
  private readonly processes: ProcessRepository;
  private readonly capabilities: CapabilityRepository;
  private readonly rules: RuleRepository;
  private readonly approvals: ApprovalRepository;
  private forAll: string[] = [];

  constructor({ container }: Kernel) {
    this.store = container.get<Store>(Store);
    this.processes = container.get<ProcessRepository>(ProcessRepository);
    this.capabilities = container.get<CapabilityRepository>(CapabilityRepository);
    this.rules = container.get<RuleRepository>(RuleRepository);
    this.approvals = container.get<ApprovalRepository>(ApprovalRepository);
  }

  /** One world, in one unit. The rules for all of the world before are taken away: they would bind this one too. */
  async put(world: World): Promise<void> {
    await this.store.write(async (tx) => {
      for (const id of this.forAll) await this.rules.delete(tx, id);
      const places = await this.putProcesses(tx, world);
      await this.capabilities.insert(tx, world.capabilities);
      const numberOf = (pid: string) => places.get(pid)?.n ?? 0;
      for (const rule of world.rules) await this.rules.insert(tx, { ...rule, n: numberOf(rule.pid) });
      for (const one of world.approvals) await this.approvals.insert(tx, { ...one, n: numberOf(one.pid) });
    });
    this.forAll = world.rules.flatMap(({ id, pid }) => (pid === '*' ? [id] : []));
  }

  /** Everything about `pids`, and the rules for all, as the unit sees it. */
  async readWorld(
    tx: ReadTx,
    pids: readonly Pid[],
  ): Promise<Pick<ReferenceWorld, 'processes' | 'capabilities' | 'rules' | 'approvals'>> {
    const processes: ReferenceProcess[] = [];
    const capabilities = [];
    const approvals = [];
    for (const pid of pids) {
      const row = await this.processes.find(tx, pid);
      if (row !== undefined) processes.push({ ...row, ended: row.exitedAt !== null });
      capabilities.push(...(await this.capabilities.findByHolder(tx, pid)));
      approvals.push(...(await this.approvals.list(tx, { pid, pending: false, after: '', limit: 1_000 })));
    }
    return { processes, capabilities, approvals, rules: await this.rules.list(tx) };
  }

  private async putProcesses(
    tx: WriteTx,
    { processes }: World,
  ): Promise<Map<Pid, { n: number; path: readonly number[] }>> {
    const places = new Map<Pid, { n: number; path: readonly number[] }>();
    for (const process of processes) {
      const above = places.get(process.bornUnder ?? '');
      const path = above === undefined ? [] : [...above.path, above.n];
      places.set(process.pid, { path, n: await this.processes.insert(tx, rowOf(process, path)) });
    }
    return places;
  }
}

function rowOf(process: ReferenceProcess, path: readonly number[]): Omit<ProcessRow, 'n'> {
  const { ended, ...rest } = process;
  return {
    ...rest,
    path,
    depth: path.length,
    root: process.pid,
    kind: 'external',
    image: 'base@1',
    id: null,
    queue: null,
    externalRef: null,
    acknowledgesStop: null,
    failedBuilds: null,
    status: ended ? 'exited' : 'created',
    exitedAt: ended ? 1 : null,
    exitOrder: ended ? 1 : null,
    ...unusedFields,
  };
}

const unusedFields = {
  name: null,
  labels: null,
  owner: null,
  env: null,
  deadlineMs: null,
  onParentExit: 'cancel',
  onBudget: 'refuse',
  createdAt: 0,
  goal: 'o_none',
  view: 0,
  args: null,
  recovery: 'fail',
  retry: null,
  previous: null,
  pausedBy: null,
  version: 1,
  fence: 1,
  attempt: 1,
  recoveries: 0,
  node: null,
  wait: null,
  stop: null,
  outcome: null,
  message: null,
  result: null,
  startedAt: null,
  updatedAt: 0,
  deadlineAt: null,
  alarmAt: null,
  cwd: '.',
  progress: null,
} as const;
