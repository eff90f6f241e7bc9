import { Store } from '../../../src/base/store.js';
import { AuthorityCache } from '../../../src/capability/decision/authority-cache.js';
import type { RawDecision } from '../../../src/capability/decision/decide.js';
import type { Decision } from '../../../src/capability/decision/decision.js';
import { Evaluator } from '../../../src/capability/decision/evaluator.js';
import type { Question } from '../../../src/capability/decision/question.js';
import { QuestionParser } from '../../../src/capability/decision/question.js';
import type { Kernel } from '../../../src/index.js';
import { type ReferenceWorld, referenceDecision } from '../../capability/reference-evaluator.js';
import type { WorldQuestion } from './random-worlds.js';

/** The code of a decision and the capability, as one text. */
export type DecisionText = string;

/** Decides the same questions by the different parts of one kernel. */
export class DecisionSources {
  private readonly store: Store;
  private readonly questionParser: QuestionParser;
  private readonly evaluator: Evaluator;
  private readonly cache: AuthorityCache;

  constructor(private readonly kernel: Kernel) {
    const { container } = kernel;
    this.store = container.get<Store>(Store);
    this.questionParser = container.get(QuestionParser);
    this.evaluator = container.get(Evaluator);
    this.cache = container.get(AuthorityCache);
  }

  /** The question as the kernel parses it; arguments that were left out stay open here. */
  async parse(asked: WorldQuestion): Promise<Question> {
    const { args, ...question } = await this.questionParser.parse(
      asked.pid,
      asked.right,
      asked.resource,
      asked.args ?? {},
    );
    return asked.args === undefined ? question : { ...question, args };
  }

  /** By the rows, in one unit. */
  decideFromRows(asked: readonly WorldQuestion[], questions: readonly Question[]): Promise<DecisionText[]> {
    return this.store.read(async (tx) => {
      const texts: DecisionText[] = [];
      for (const [index, question] of questions.entries()) {
        texts.push(textOfRawDecision(await this.evaluator.decide(tx, question, asked[index]?.now ?? 0)));
      }
      return texts;
    });
  }

  /** From memory. */
  async decideFromCache(asked: readonly WorldQuestion[], questions: readonly Question[]): Promise<DecisionText[]> {
    const texts: DecisionText[] = [];
    for (const [index, question] of questions.entries()) {
      texts.push(textOfRawDecision(await this.cache.decide(question, asked[index]?.now ?? 0)));
    }
    return texts;
  }

  /** As users are told, at the time of the kernel's clock. */
  async decideByCheck(asked: readonly WorldQuestion[]): Promise<DecisionText[]> {
    const texts: DecisionText[] = [];
    for (const { pid, right, resource, args } of asked) {
      texts.push(textOfDecision(await this.kernel.capabilities.check(pid, right, resource, args)));
    }
    return texts;
  }
}

/** The decision of the reference evaluator. */
export function referenceDecisionText(world: ReferenceWorld, asked: WorldQuestion): DecisionText {
  return textOfDecision(referenceDecision({ ...world, now: asked.now }, asked));
}

function textOfDecision({ code, capability }: Pick<Decision, 'code' | 'capability'>): DecisionText {
  return capability === undefined ? code : `${code} ${capability}`;
}

function textOfRawDecision({ code, node }: RawDecision): DecisionText {
  const isKin = node === undefined && (code === 'KIN' || code === 'ASK');
  return textOfDecision({
    code,
    ...(isKin ? { capability: 'kin' } : node === undefined ? {} : { capability: node.record.id }),
  });
}

/** Fails with the first question that is decided otherwise, and everything that matters for it. */
export function assertSameDecisions(
  world: Omit<ReferenceWorld, 'now'>,
  asked: readonly WorldQuestion[],
  expected: readonly DecisionText[],
  found: readonly DecisionText[],
  who: string,
): void {
  const index = expected.findIndex((text, at) => text !== found[at]);
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
