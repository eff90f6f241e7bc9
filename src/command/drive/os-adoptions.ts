import path from 'node:path';
import { inject, injectable } from 'inversify';
import type { z } from 'zod';
import { type InputError, invalidInput } from '../../base/errors.js';
import { IdSource, type Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { NodeIdentity } from '../../base/node-identity.js';
import type { WriteTx } from '../../base/store.js';
import { Accounts } from '../../kernel/budget/accounts.js';
import { getAdopted } from '../../kernel/command/adopted-ends.js';
import type { Adoptions, CommandPlan } from '../../kernel/command/command-ports.js';
import { CommandRepository } from '../../kernel/command/command-repository.js';
import { SpawnGate } from '../../kernel/lifecycle/spawn-gate.js';
import { type NewProcess, Spawning } from '../../kernel/lifecycle/spawning.js';
import { anonymousCommandImage } from '../../kernel/process/images.js';
import type { OwnerKeys, ProcessRow } from '../../kernel/process/process.js';
import { ProcessLookup } from '../../kernel/process/process-lookup.js';
import { ProcessRepository, saveOwner } from '../../kernel/process/process-repository.js';
import { adoptedCheckpoint, adoptSpec, parse, parsePid } from '../../kernel/specs.js';
import { normalizePath, segmentsWithin, Workspace } from '../../kernel/workspace/working-directory.js';
import { storedBytesOf } from '../../memory/object/object-writer.js';
import { NodeLease } from '../../runtime/node/node-lease.js';
import type { OsProgram } from '../../runtime/os/os-programs.js';
import type { Act } from '../../unit/act.js';
import type { Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { commandLine, redactArguments } from '../plan/redaction.js';
import type { AdoptedDriver, InterruptFunction } from './adopted-driver.js';
import { AdoptionChecks } from './adoption-checks.js';
import { CommandDrivers } from './command-drivers.js';
import { CommandRecorder } from './command-recorder.js';

type ParsedSpec = z.output<typeof adoptSpec>;
type Checkpoint = z.output<typeof adoptedCheckpoint>;

/** Makes processes of programs that somebody else has started on this machine, and drives them. */
@injectable()
export class OsAdoptions implements Adoptions {
  constructor(
    @inject(Workspace) private readonly workspace: string,
    @inject(Units) private readonly units: Units,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(Spawning) private readonly spawning: Spawning,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(CommandRecorder) private readonly commandRecorder: CommandRecorder,
    @inject(CommandDrivers) private readonly drivers: CommandDrivers,
    @inject(AdoptionChecks) private readonly checks: AdoptionChecks,
    @inject(SpawnGate) private readonly gate: SpawnGate,
  ) {}

  async adopt(caller: Caller, rawSpec: unknown): Promise<Pid> {
    const { data, interrupt } = splitInterrupt(rawSpec);
    const spec = parse(adoptSpec, data, 'spec');
    const { program, group } = this.checks.inspect(spec);
    const call = { caller, actor: 'host', action: 'process.adopt' } as const;
    const proposed = this.toNewProcess(spec, null, '', shownArgs({ command: program.name, ...spec }, {}));
    await this.gate.check(call, spec.parent ?? null, proposed);
    await this.lease.acquire();
    const adopted = { leader: program.identity, group };
    const driver = this.drivers.registerAdopted(this.ids.next('process'), adopted, interrupt);
    try {
      const row = await this.units.commit(call, (tx, act) => this.create(tx, act, spec, program, driver, group));
      this.drivers.beginAdopted(driver, row);
      return driver.pid;
    } catch (error) {
      this.drivers.forgetAdopted(driver);
      throw error;
    }
  }

  async checkpoint(caller: Caller, input: unknown, raw: unknown): Promise<void> {
    const pid = parsePid(input);
    const checkpoint = parse(adoptedCheckpoint, raw, 'checkpoint');
    const call = { caller, actor: 'host', action: 'process.checkpoint', target: pid } as const;
    await this.units.commit(call, async (tx, act) => {
      const row = await this.lookup.getLive(tx, pid);
      const command = await getAdopted(this.commands, tx, row);
      const shown = shownArgs(checkpoint, row.args as JsonObject);
      const next: ProcessRow = {
        ...row,
        ...(checkpoint.owner === undefined ? {} : { owner: toOwner(checkpoint.owner) }),
        args: shown,
        cwd: this.folderOf(checkpoint.cwd) ?? row.cwd,
        version: row.version + 1,
        updatedAt: act.at,
      };
      await saveOwner(this.processes, tx, next, row.owner);
      await this.accounts.addStored(tx, row, Math.max(0, bytesOf(shown) - bytesOf(row.args)));
      const line = lineOf(shown);
      await this.commands.put(tx, { ...command, line });
      const fields = Object.keys(checkpoint);
      this.recorder.record(tx, act, next, {
        event: 'process.checkpointed',
        data: { fields },
        action: 'process.checkpoint',
        before: row.status,
        after: next.status,
        facts: { fields },
        payload: { line, ...(shown.cwd === undefined ? {} : { cwd: shown.cwd }), owner: { ...next.owner } },
      });
    });
  }

  /** Everything that can refuse is asked before the first row is written. Gives the row as it runs. */
  private async create(
    tx: WriteTx,
    act: Act,
    spec: ParsedSpec,
    program: OsProgram,
    driver: AdoptedDriver,
    group: number | null,
  ): Promise<ProcessRow> {
    await this.lease.assertLive(tx);
    const parent = spec.parent === undefined ? null : await this.lookup.getSpawnable(tx, spec.parent);
    await this.checks.assertNoRow(tx, program.identity);
    const shown = shownArgs({ command: program.name, ...spec }, {});
    const { row, command } = await this.spawning.create(tx, act, this.toNewProcess(spec, parent, driver.pid, shown));
    if (command === undefined) throw new Error('A command process has no command row.');
    const leader = program.identity;
    await this.commands.put(tx, { ...command, leader, adopted: { group } });
    const { pid: osPid, startTicks } = leader;
    this.recorder.recordAudit(tx, {
      ...act,
      action: 'process.adopt',
      outcome: 'ok',
      target: row.pid,
      facts: { osPid, startTicks, group, startedAt: program.startedAt },
      payload: { line: command.line, ...(shown.cwd === undefined ? {} : { cwd: shown.cwd }) },
    });
    return this.commandRecorder.startRow(tx, act, row, leader, Math.min(program.startedAt, act.at));
  }

  private toNewProcess(spec: ParsedSpec, parent: ProcessRow | null, pid: Pid, shown: JsonObject): NewProcess {
    const command: CommandPlan = {
      resource: 'command:**',
      line: lineOf(shown),
      argsHash: '',
      secretQuestions: [],
      background: false,
      survive: true,
    };
    return {
      pid,
      parent,
      image: anonymousCommandImage,
      args: shown,
      goal: { payload: {} },
      cwd: this.folderOf(spec.cwd) ?? parent?.cwd ?? '.',
      name: spec.name ?? null,
      queue: null,
      externalRef: null,
      labels: null,
      owner: spec.owner === undefined ? null : toOwner(spec.owner),
      env: null,
      budget: {},
      onBudget: 'refuse',
      deadlineMs: spec.deadlineMs ?? null,
      onParentExit: 'cancel',
      held: false,
      registration: null,
      authority: parent === null ? { grants: [] } : { delegate: [] },
      fork: null,
      command,
      node: this.node.nodeId,
    };
  }

  /** The folder of the workspace that the program works in; undefined when it is none. */
  private folderOf(cwd: string | undefined): string | undefined {
    if (cwd === undefined) return undefined;
    const segments = segmentsWithin(this.workspace, path.resolve(this.workspace, cwd));
    try {
      return segments === undefined ? undefined : normalizePath('.', segments.join('/') || '.');
    } catch {
      // A spelling that no folder of a process has.
      return undefined;
    }
  }
}

/** The arguments as they are stored and shown: without secrets. Members that `facts` does not name stay as `before` has them. */
function shownArgs({ command, args, cwd }: Checkpoint, before: JsonObject): JsonObject {
  const [program = '', ...others] = Array.isArray(before.argv) ? before.argv.map(String) : [];
  const folder = cwd ?? before.cwd;
  return {
    argv: redactArguments([command ?? program, ...(args ?? others)]),
    ...(folder === undefined ? {} : { cwd: folder }),
  };
}

function lineOf({ argv }: JsonObject): string {
  return commandLine(argv as readonly string[]);
}

function bytesOf(args: ProcessRow['args']): number {
  return storedBytesOf({ payload: JSON.stringify(args) });
}

function toOwner(owner: NonNullable<Checkpoint['owner']>): OwnerKeys | null {
  return Object.keys(owner).length === 0 ? null : (owner as OwnerKeys);
}

/** Takes the function out of a spec, whose other members are data. Throws INVALID_INPUT. */
function splitInterrupt(spec: unknown): { data: unknown; interrupt?: InterruptFunction } {
  if (typeof spec !== 'object' || spec === null) return { data: spec };
  const { interrupt, ...data } = Object.getOwnPropertyDescriptors(spec) as PropertyDescriptorMap;
  if (interrupt?.value === undefined && interrupt?.get === undefined) return { data: spec };
  if (typeof interrupt.value !== 'function') throw notAFunction();
  return { data: Object.create(Object.prototype, data), interrupt: interrupt.value as InterruptFunction };
}

function notAFunction(): InputError {
  return invalidInput('spec.interrupt', 'is not a function', 'Give a function that asks the program to end.');
}
