import { inject, injectable } from 'inversify';
import { CapabilityError, MemoryError } from '../../base/errors.js';
import type { CapabilityId, ObjectId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { ApprovalNeeded } from '../../capability/approval/approval-errors.js';
import { type Authorization, Authorizer } from '../../capability/decision/authorizer.js';
import { applying } from '../../capability/decision/decide.js';
import type { Question } from '../../capability/decision/question.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import type { Right } from '../../capability/resource/rights.js';
import { maskOfRight } from '../../capability/resource/rights.js';
import type { Asking } from '../../capability/rule/rule-gate.js';
import { Rules } from '../../capability/rule/rules.js';
import { Views } from '../view/views.js';
import type { ObjectRecord } from './object.js';
import { objectQuestion } from './object-question.js';
import { ObjectRepository } from './object-repository.js';

/** An object that may be used, and by what. */
export interface Accessed {
  readonly object: ObjectRecord;
  readonly warrant: Authorization;
  /** What it comes to, as a mask, where it is reached through a view: the capability is another process's. */
  readonly reached?: number;
}

/** Who may do what with an object: by a capability on it or its place, or through the view that a process was forked with. */
@injectable()
export class ObjectAccess {
  constructor(
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(Authorizer) private readonly warrants: Authorizer,
    @inject(Rules) private readonly rules: Rules,
    @inject(Views) private readonly views: Views,
  ) {}

  /** In the unit of the effect: takes a use and an approval. Throws NO_SUCH_OBJECT, AskNeeded. */
  async take(tx: WriteTx, asking: Asking, pid: Pid, id: ObjectId, right: Right): Promise<Accessed> {
    const object = await this.live(tx, pid, id);
    const question = objectQuestion(pid, right, object);
    return this.accessed(tx, asking, question, object, () => this.warrants.authorize(tx, asking, question));
  }

  /** Before that unit, or where nothing is done: nothing is taken. Throws as `take`. */
  async look(tx: ReadTx, asking: Asking, pid: Pid, id: ObjectId, right: Right): Promise<Accessed> {
    const object = await this.live(tx, pid, id);
    const question = objectQuestion(pid, right, object);
    return this.accessed(tx, asking, question, object, () => this.warrants.preview(tx, asking, question));
  }

  /** As `look`; undefined for what may not be used, and for what a person would have to be asked about. */
  async tried(tx: ReadTx, asking: Asking, pid: Pid, id: ObjectId, right: Right): Promise<Accessed | undefined> {
    try {
      return await this.look(tx, asking, pid, id, right);
    } catch (error) {
      if (error instanceof MemoryError || error instanceof ApprovalNeeded) return undefined;
      throw error;
    }
  }

  /** What a handle to it carries, as a mask. */
  async rights(tx: ReadTx, { warrant, reached }: Accessed): Promise<number> {
    return reached ?? (await this.capabilities.find(tx, warrant.capability))?.rights ?? 0;
  }

  /** Throws NO_SUCH_OBJECT for what is not there, as for what may not be used. */
  private async live(tx: ReadTx, pid: Pid, id: ObjectId): Promise<ObjectRecord> {
    const object = await this.objects.find(tx, id);
    if (object === undefined || object.deletedAt !== null) throw unseen(pid, id);
    return object;
  }

  private async accessed(
    tx: ReadTx,
    asking: Asking,
    question: Question,
    object: ObjectRecord,
    direct: () => Promise<Authorization>,
  ): Promise<Accessed> {
    try {
      return { object, warrant: await direct() };
    } catch (error) {
      if (!(error instanceof CapabilityError)) throw error;
      const through = error.facts.code === 'DENY_RULE' ? undefined : await this.through(tx, asking, question, object);
      if (through === undefined) throw unseen(question.pid, object.id);
      return through;
    }
  }

  /** By what an ancestor had in its view when this process was forked from it. */
  private async through(
    tx: ReadTx,
    asking: Asking,
    { pid, right, names }: Question,
    object: ObjectRecord,
  ): Promise<Accessed | undefined> {
    const holder = await this.capabilities.holder(tx, pid);
    const view = holder?.live === true ? await this.views.find(tx, holder.view) : undefined;
    const reached = view === undefined ? undefined : await this.views.through(tx, view, object, asking.at);
    if (holder === undefined || reached === undefined || (reached.rights & maskOfRight(right)) === 0) return undefined;
    // What a person has to be asked about is asked of who holds it, not through a fork.
    const asks = applying('ask', await this.rules.matching(tx, holder, names), { right, args: {} }, asking.at);
    if (asks.length > 0) return undefined;
    return { object, warrant: byView(reached.capability, holder.generation), reached: reached.rights };
  }
}

function byView(capability: CapabilityId, generation: number): Authorization {
  const decision = { effect: 'allow', code: 'ALLOWED', capability, reason: `Allowed by ${capability}.` } as const;
  return { capability, counted: 0, generation, decision };
}

/** The same for what there is not and for what may not be used. */
export function unseen(pid: Pid, object: ObjectId): MemoryError {
  return new MemoryError('NO_SUCH_OBJECT', `Process ${pid} sees no object ${JSON.stringify(object)}.`, {
    facts: { pid, object },
    hint: 'Use a handle that the process got from a wait, its goal, its view or its own namespace.',
  });
}
