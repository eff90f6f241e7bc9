import { inject, injectable } from 'inversify';
import { invalidInput, ProcessError } from '../../base/errors.js';
import { Grants } from '../../capability/holding/grants.js';
import { RuleGate } from '../../capability/rule/rule-gate.js';
import type { Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { type ImageFacts, Images } from '../process/images.js';
import { isParked, type ProcessRow } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository, saveProcess } from '../process/process-repository.js';
import { nextState } from '../process/transitions.js';
import { parse, parsePid, retryOptions } from '../specs.js';

/** Has a process that waits for code run again over its journal, by any build of its image, or of another version of it. */
@injectable()
export class Retry {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(Images) private readonly images: Images,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(Grants) private readonly grants: Grants,
    @inject(RuleGate) private readonly rules: RuleGate,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * With a version, a process that is runnable can be moved to it too. Throws INVALID_TRANSITION for a process that waits
   * for no code, NO_SUCH_IMAGE, INVALID_INPUT, CAPABILITY_DENIED, TREE_STOPPING, PROCESS_TERMINATED.
   */
  async run(caller: Caller, input: unknown, rawOptions: unknown = {}): Promise<void> {
    const pid = parsePid(input);
    const { version } = parse(retryOptions, rawOptions, 'options');
    await this.units.commit({ caller, actor: pid, action: 'process.retry', target: pid }, async (tx, act) => {
      const row = await this.lookup.getSpawnable(tx, pid);
      const isMove = row.status === 'runnable' && version !== undefined;
      if (!isParked(row) && !isMove) throw notParked(row);
      const name = nameOf(row.image);
      const image = version === undefined ? undefined : this.find(row, name, version);
      const approval = await this.rules.check(tx, act, pid, 'spawn', `image:${name}`, row.args);
      if (image !== undefined && image.requires.length > 0) {
        const held = await this.grants.findLive(tx, pid, act.at);
        this.grants.requireAll(held, image.requires, { pid, image: image.reference, now: act.at });
      }
      const freed = isMove ? { ...row, fence: row.fence + 1, version: row.version + 1 } : nextState(row, 'release');
      const next: ProcessRow = {
        ...freed,
        image: version === undefined ? row.image : `${name}@${version}`,
        recovery: image?.recovery ?? row.recovery,
        retry: image === undefined ? row.retry : image.retry,
        recoveries: 0,
        failedBuilds: null,
        alarmAt: row.deadlineAt,
        updatedAt: act.at,
      };
      await saveProcess(this.processes, tx, next);
      this.recorder.record(tx, act, next, {
        event: 'process.woken',
        data: { status: next.status, by: 'retry' },
        action: 'process.retry',
        approval,
        before: row.status,
        after: next.status,
        facts: { image: next.image, from: row.image, builds: [...(row.failedBuilds ?? [])], fence: next.fence },
        lineage: true,
      });
    });
  }

  /** Undefined where this kernel has no version of the image: only the nodes that run it know which there are. */
  private find(row: ProcessRow, name: string, version: string): ImageFacts | undefined {
    if (this.images.find(name) === undefined) return undefined;
    const image = this.images.resolve(`${name}@${version}`);
    if (image.kind === row.kind) return image;
    throw invalidInput(
      'options.version',
      `is of kind ${image.kind}, and the journal of ${row.pid} of kind ${row.kind}`,
      'exec gives a process another program, with an empty journal.',
    );
  }
}

function nameOf(reference: string): string {
  return reference.slice(0, reference.lastIndexOf('@'));
}

function notParked({ pid, status }: ProcessRow): ProcessError {
  return new ProcessError('INVALID_TRANSITION', `Process ${pid} is ${status}: it does not wait for code.`, {
    facts: { pid, status, event: 'retry' },
    hint: 'processes.list({ waiting: "code" }) shows those that do; exec gives a process another program.',
  });
}
