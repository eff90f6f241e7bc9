import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { InputError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { copyPlain, payloadLimits } from '../../base/spec.js';
import { Store } from '../../base/store.js';
import { AuthorityCache } from '../../capability/decision/authority-cache.js';
import { allows } from '../../capability/decision/decide.js';
import type { Question } from '../../capability/decision/question.js';
import { ObjectHandle } from '../../memory/object/object.js';
import { Images } from '../process/images.js';
import { isTerminal } from '../process/process.js';
import { ProcessRepository } from '../process/process-repository.js';
import type { UserSignal } from '../signal/signal.js';
import { SignalTargets, type Target } from '../signal/signal-targets.js';
import type { MessageBody } from './message.js';
import { type ParsedBody, restoreHandles } from './message-body.js';

/** The output of a schema, or the refusal of what does not fit it. */
export type Verdict<T> = { readonly value: T } | { readonly refusal: InputError };

/**
 * Checks messages and user signals by the schemas of the receiver's image, if this program has it. Schemas are code of users:
 * no unit calls them. What is sent is stored as it was sent, and the output of the schema is what is received.
 */
@injectable()
export class InboxChecks {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Images) private readonly images: Images,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(SignalTargets) private readonly targets: SignalTargets,
    @inject(AuthorityCache) private readonly authority: AuthorityCache,
  ) {}

  /**
   * For the sender, before its unit. Without the authority of `question` nothing is checked, so that nothing is told about
   * the receiver; the host needs none. Throws INVALID_INPUT.
   */
  async checkMessage(to: Pid, { body, attachments }: ParsedBody, question?: Question): Promise<void> {
    if (!this.images.hasMessageSchemas) return;
    const receiver = await this.store.read((tx) => this.processes.find(tx, to));
    const parse = receiver === undefined ? undefined : this.images.find(receiver.image)?.parseMessage;
    if (parse === undefined || (await this.isRefused(question))) return;
    const verdict = await this.parseMessage(
      parse,
      restoreHandles({ body: structuredClone(body), handles: attachments }),
    );
    if ('refusal' in verdict) throw verdict.refusal;
  }

  /**
   * For the sender, before its unit: the images of the processes that `target` names whose schema the payload does not fit,
   * each with its refusal. Without the authority of `question` nothing is checked.
   */
  async findMisfits(
    target: Target,
    signal: UserSignal,
    payload: JsonValue,
    question?: Question,
  ): Promise<ReadonlyMap<string, InputError>> {
    const misfits = new Map<string, InputError>();
    if (!this.images.hasSignalSchema(signal) || (await this.isRefused(question))) return misfits;
    for (const image of await this.imagesOf(target)) {
      const parse = this.images.find(image)?.parseSignal?.get(signal);
      const verdict = parse === undefined ? undefined : await this.parseSignal(parse, payload);
      if (verdict !== undefined && 'refusal' in verdict) misfits.set(image, verdict.refusal);
    }
    return misfits;
  }

  parseMessage(parse: (body: MessageBody) => Promise<unknown>, body: MessageBody): Promise<Verdict<MessageBody>> {
    return toVerdict(async () => copyPlain(await parse(body), 'message', payloadLimits, ObjectHandle.is));
  }

  parseSignal(parse: (payload: JsonValue) => Promise<unknown>, payload: JsonValue): Promise<Verdict<JsonValue>> {
    return toVerdict(async () => copyPlain(await parse(structuredClone(payload)), 'options.payload', payloadLimits));
  }

  /** Of the live processes. A pid that does not exist is refused later, in the unit. */
  private imagesOf(target: Target): Promise<ReadonlySet<string>> {
    return this.store.read(async (tx) => {
      if (typeof target === 'string') {
        const row = await this.processes.find(tx, target);
        return new Set(row === undefined ? [] : [row.image]);
      }
      const matched = await this.targets.match(tx, target, false);
      return new Set(matched.filter(({ status }) => !isTerminal(status)).map(({ image }) => image));
    });
  }

  private async isRefused(question: Question | undefined): Promise<boolean> {
    if (question === undefined) return false;
    const { code } = await this.authority.decide(question, this.clock.peek());
    return code !== 'ASK' && !allows(code);
  }
}

async function toVerdict<T>(check: () => Promise<T>): Promise<Verdict<T>> {
  try {
    return { value: await check() };
  } catch (error) {
    if (error instanceof InputError) return { refusal: error };
    throw error;
  }
}
