import { inject, injectable } from 'inversify';
import { CapabilityError, MemoryError } from '../../base/errors.js';
import type { CapabilityId, ObjectId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { ApprovalNeeded } from '../../capability/approval/approval-errors.js';
import { type Authorization, Authorizer } from '../../capability/decision/authorizer.js';
import { applicableRules } from '../../capability/decision/decide.js';
import type { Question } from '../../capability/decision/question.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import { parseRequest } from '../../capability/resource/resource.js';
import { maskOfRight, type Right } from '../../capability/resource/rights.js';
import type { CallContext } from '../../capability/rule/rule-gate.js';
import { Rules } from '../../capability/rule/rules.js';
import { Views } from '../view/views.js';
import type { ObjectRecord } from './object.js';
import { ObjectRepository } from './object-repository.js';

/** An object, and the authorization to use it. */
export interface AccessedObject {
  readonly object: ObjectRecord;
  readonly authorization: Authorization;
  /** The rights on it, as a mask, where access is inherited through a view: the capability belongs to another process. */
  readonly inheritedRights?: number;
}

/** Decides on access to objects: by a capability on the object or its namespace, or inherited through a forked view. */
@injectable()
export class ObjectAccess {
  constructor(
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(Authorizer) private readonly authorizer: Authorizer,
    @inject(Rules) private readonly rules: Rules,
    @inject(Views) private readonly views: Views,
  ) {}

  /** For the unit of the effect: uses up a counted use and an approval. Throws NO_SUCH_OBJECT, ApprovalNeeded. */
  async authorize(tx: WriteTx, context: CallContext, pid: Pid, id: ObjectId, right: Right): Promise<AccessedObject> {
    const object = await this.findLive(tx, pid, id);
    const question = objectQuestion(pid, right, object);
    return this.authorizeOrInherit(tx, context, question, object, () =>
      this.authorizer.authorize(tx, context, question),
    );
  }

  /** For reads, and before the unit of an effect: uses up nothing. Throws as `authorize`. */
  async preview(tx: ReadTx, context: CallContext, pid: Pid, id: ObjectId, right: Right): Promise<AccessedObject> {
    const object = await this.findLive(tx, pid, id);
    const question = objectQuestion(pid, right, object);
    return this.authorizeOrInherit(tx, context, question, object, () => this.authorizer.preview(tx, context, question));
  }

  /** As `preview`, but undefined where access is refused or needs an approval that there is not. */
  async tryPreview(
    tx: ReadTx,
    context: CallContext,
    pid: Pid,
    id: ObjectId,
    right: Right,
  ): Promise<AccessedObject | undefined> {
    try {
      return await this.preview(tx, context, pid, id, right);
    } catch (error) {
      if (error instanceof MemoryError || error instanceof ApprovalNeeded) return undefined;
      throw error;
    }
  }

  /** The rights of a handle to the object, as a mask. */
  async handleRights(tx: ReadTx, { authorization, inheritedRights }: AccessedObject): Promise<number> {
    return inheritedRights ?? (await this.capabilities.find(tx, authorization.capability))?.rights ?? 0;
  }

  /** Throws NO_SUCH_OBJECT, the same error as for an object that may not be used. */
  private async findLive(tx: ReadTx, pid: Pid, id: ObjectId): Promise<ObjectRecord> {
    const object = await this.objects.find(tx, id);
    if (object === undefined || object.deletedAt !== null) throw noVisibleObject(pid, id);
    return object;
  }

  private async authorizeOrInherit(
    tx: ReadTx,
    context: CallContext,
    question: Question,
    object: ObjectRecord,
    authorizeDirectly: () => Promise<Authorization>,
  ): Promise<AccessedObject> {
    try {
      return { object, authorization: await authorizeDirectly() };
    } catch (error) {
      if (!(error instanceof CapabilityError)) throw error;
      const inherited =
        error.facts.code === 'DENY_RULE' ? undefined : await this.inheritAccess(tx, context, question, object);
      if (inherited === undefined) throw noVisibleObject(question.pid, object.id);
      return inherited;
    }
  }

  /** Access through what an ancestor had in its view when this process was forked from it. */
  private async inheritAccess(
    tx: ReadTx,
    context: CallContext,
    { pid, right, names }: Question,
    object: ObjectRecord,
  ): Promise<AccessedObject | undefined> {
    const holder = await this.capabilities.findHolder(tx, pid);
    const view = holder?.live === true ? await this.views.find(tx, holder.view) : undefined;
    const inherited = view === undefined ? undefined : await this.views.inheritedAccessOf(tx, view, object, context.at);
    if (holder === undefined || inherited === undefined || (inherited.rights & maskOfRight(right)) === 0)
      return undefined;
    // An ask rule is for the holder of the capability: an approval cannot be requested through a fork.
    const asks = applicableRules(
      'ask',
      await this.rules.findMatching(tx, holder, names),
      { right, args: {} },
      context.at,
    );
    if (asks.length > 0) return undefined;
    return {
      object,
      authorization: inheritedAuthorization(inherited.capability, holder.generation),
      inheritedRights: inherited.rights,
    };
  }
}

function inheritedAuthorization(capability: CapabilityId, generation: number): Authorization {
  const decision = { effect: 'allow', code: 'ALLOWED', capability, reason: `Allowed by ${capability}.` } as const;
  return { capability, counted: 0, generation, decision };
}

/** One error for a missing object and for one that may not be used, so that neither can be told from the other. */
export function noVisibleObject(pid: Pid, object: ObjectId): MemoryError {
  return new MemoryError('NO_SUCH_OBJECT', `Process ${pid} sees no object ${JSON.stringify(object)}.`, {
    facts: { pid, object },
    hint: 'Use a handle that the process got from a wait, its goal, its view or its own namespace.',
  });
}

/** A question about both names of an object: a capability on either allows, and a deny rule on either denies. */
export function objectQuestion(pid: Pid, right: Right, { id, namespace }: ObjectRecord): Question {
  const request = parseRequest(`object:${id}`);
  return {
    pid,
    right,
    request,
    names: [request, parseRequest(`ns:${namespace}/${id}`)],
    matchesAnyName: true,
    args: {},
  };
}
