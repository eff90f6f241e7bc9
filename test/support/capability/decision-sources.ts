import { Store } from '../../../src/base/store.js';
import { AuthorityCache } from '../../../src/capability/decision/authority-cache.js';
import type { Decision } from '../../../src/capability/decision/decision.js';
import { Evaluator } from '../../../src/capability/decision/evaluator.js';
import type { Question } from '../../../src/capability/decision/question.js';
import { QuestionParser } from '../../../src/capability/decision/question.js';
import type { Kernel } from '../../../src/index.js';
import { type ReferenceWorld, referenceDecision } from '../../capability/reference-evaluator.js';
import type { Asked } from './random-worlds.js';

/** A code and what it is by, as one text. */
export type Opinion = string;

/** What the parts of one kernel say to the same questions. */
export class Opinions {
  private readonly store: Store;
  private readonly questions: QuestionParser;
  private readonly evaluator: Evaluator;
  private readonly cache: AuthorityCache;

  constructor(private readonly kernel: Kernel) {
    const { container } = kernel;
    this.store = container.get<Store>(Store);
    this.questions = container.get(QuestionParser);
    this.evaluator = container.get(Evaluator);
    this.cache = container.get(AuthorityCache);
  }

  /** The question as the kernel understands it; arguments that were left out are left open here. */
  async understood(asked: Asked): Promise<Question> {
    const { args, ...question } = await this.questions.parse(asked.pid, asked.right, asked.resource, asked.args ?? {});
    return asked.args === undefined ? question : { ...question, args };
  }

  /** By the rows, in one unit. */
  uncached(asked: readonly Asked[], questions: readonly Question[]): Promise<Opinion[]> {
    return this.store.read(async (tx) => {
      const opinions: Opinion[] = [];
      for (const [index, question] of questions.entries()) {
        opinions.push(opinionOf(await this.evaluator.decide(tx, question, asked[index]?.now ?? 0)));
      }
      return opinions;
    });
  }

  /** From memory. */
  async cached(asked: readonly Asked[], questions: readonly Question[]): Promise<Opinion[]> {
    const opinions: Opinion[] = [];
    for (const [index, question] of questions.entries()) {
      opinions.push(opinionOf(await this.cache.decide(question, asked[index]?.now ?? 0)));
    }
    return opinions;
  }

  /** As users are told, at the time of the kernel's clock. */
  async told(asked: readonly Asked[]): Promise<Opinion[]> {
    const opinions: Opinion[] = [];
    for (const { pid, right, resource, args } of asked) {
      opinions.push(toldOpinion(await this.kernel.capabilities.check(pid, right, resource, args)));
    }
    return opinions;
  }
}

/** The second opinion on one question. */
export function referenceOpinion(world: ReferenceWorld, asked: Asked): Opinion {
  return toldOpinion(referenceDecision({ ...world, now: asked.now }, asked));
}

function toldOpinion({ code, capability }: Pick<Decision, 'code' | 'capability'>): Opinion {
  return capability === undefined ? code : `${code} ${capability}`;
}

function opinionOf({ code, slot }: { code: Decision['code']; slot?: { record: { id: string } } | undefined }): Opinion {
  const isKin = slot === undefined && (code === 'KIN' || code === 'ASK');
  return toldOpinion({
    code,
    ...(isKin ? { capability: 'kin' } : slot === undefined ? {} : { capability: slot.record.id }),
  });
}

/** Fails with the first question on which somebody is of another opinion, and everything that bears on it. */
export function agreed(
  world: Omit<ReferenceWorld, 'now'>,
  asked: readonly Asked[],
  expected: readonly Opinion[],
  found: readonly Opinion[],
  who: string,
): void {
  const index = expected.findIndex((opinion, at) => opinion !== found[at]);
  const question = asked[index];
  if (question === undefined) return;
  const kind = question.resource.slice(0, question.resource.indexOf(':') + 1);
  const facts = {
    question,
    expected: expected[index],
    [who]: found[index],
    processes: world.processes,
    capabilities: world.capabilities.filter(({ resource }) => resource.startsWith(kind)),
    rules: world.rules.filter(({ resource }) => resource.startsWith(kind)),
    approvals: world.approvals.filter(({ resource }) => resource === question.resource),
  };
  throw new Error(`the ${who} decision is another one than the reference's: ${JSON.stringify(facts, null, 1)}`);
}
