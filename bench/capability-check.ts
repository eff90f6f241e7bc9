import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createKernel, type Decision, type DecisionCode, type Kernel } from '../src/index.js';
import { casbinEngine, caslEngine, type PolicyEngine, toolCalls, toolGrant } from './policy-engines.js';
import { inTempFolder, median, rate } from './support.js';

type ExpectedAnswer = keyof typeof toolCalls;

/** Times of one engine, loaded with few grants and with many. */
interface CheckTimes {
  readonly fewUs: number;
  readonly manyUs: number;
  /** The speed with many against the speed with few: the median of the rounds' ratios. */
  readonly ratio: number;
}
type EngineTimes = Readonly<Record<ExpectedAnswer, CheckTimes>>;

export interface AllTimes {
  readonly kernel: EngineTimes;
  readonly casbin: EngineTimes;
  readonly casl: EngineTimes;
}

const warmUpRounds = 10;
const rounds = 30;
/** A batch asks each question once, or as many as fit into `batchMs`; the next batch continues with the rest. */
const questions = 1_000;
const batchMs = 50;

/** Times of one check with few and with many capabilities, in the kernel and in other engines with the same grants. */
export function checkTimes(few: number, many: number): Promise<AllTimes> {
  return inTempFolder(async (folder) => {
    await using kernel = await createKernel({ store: join(folder, 'check.db'), durability: 'normal' });
    return {
      kernel: await engineTimes((held) => kernelEngine(kernel, held), few, many),
      casbin: await engineTimes(casbinEngine, few, many),
      casl: await engineTimes(caslEngine, few, many),
    };
  });
}

type Load<T> = (held: number) => Promise<PolicyEngine<T>> | PolicyEngine<T>;

async function engineTimes<T>(load: Load<T>, few: number, many: number): Promise<EngineTimes> {
  const small = await load(few);
  const large = await load(many);
  const times = (verdict: ExpectedAnswer) =>
    compareInTurns(batchRunner(small, few, verdict), batchRunner(large, many, verdict));
  return { allowed: await times('allowed'), denied: await times('denied') };
}

const answersByCode: Partial<Record<DecisionCode, ExpectedAnswer>> = { ALLOWED: 'allowed', NO_CAPABILITY: 'denied' };

/** A process that holds the grants. */
async function kernelEngine(kernel: Kernel, held: number): Promise<PolicyEngine<Decision>> {
  const pid = await kernel.processes.spawn({});
  await rate(held, 256, (at) => {
    const { tool, to } = toolGrant(at);
    const constraints = to === undefined ? {} : { constraints: { to: { in: to } } };
    return kernel.capabilities.grant(pid, { resource: `tool:${tool}`, rights: ['call'], ...constraints });
  });
  return {
    prepare({ tool, to }) {
      const [resource, args] = [`tool:${tool}`, { to }];
      return () => kernel.capabilities.check(pid, 'call', resource, args);
    },
    toText: ({ code }) => answersByCode[code] ?? code,
  };
}

/** Runs batches of both in turns; the first rounds are warm-up and do not count. */
async function compareInTurns(few: () => Promise<number>, many: () => Promise<number>): Promise<CheckTimes> {
  const measured: CheckTimes[] = [];
  for (let round = -warmUpRounds; round < rounds; round++) {
    const fewUs = await few();
    const manyUs = await many();
    if (round >= 0) measured.push({ fewUs, manyUs, ratio: fewUs / manyUs });
  }
  return {
    fewUs: median(measured.map(({ fewUs }) => fewUs)),
    manyUs: median(measured.map(({ manyUs }) => manyUs)),
    ratio: median(measured.map(({ ratio }) => ratio)),
  };
}

/** A function that runs one batch, awaiting each check, and returns microseconds per check. Throws for a wrong answer. */
function batchRunner<T>(engine: PolicyEngine<T>, held: number, verdict: ExpectedAnswer): () => Promise<number> {
  const checks = cycle(spreadIndexes(held).map((at) => engine.prepare(toolCalls[verdict](at))));
  return async () => {
    const answers: T[] = [];
    const started = performance.now();
    let tookMs = 0;
    while (answers.length < questions && tookMs < batchMs) {
      answers.push(await checks.next().value());
      tookMs = performance.now() - started;
    }
    const wrong = answers.map((answer) => engine.toText(answer)).find((said) => said !== verdict);
    if (wrong !== undefined) throw new Error(`A check that should be ${verdict} was ${wrong}.`);
    return (tookMs / answers.length) * 1000;
  };
}

/** Indexes from 0 to `held`, evenly spread in every prefix, because an engine may search from either end. */
function spreadIndexes(held: number): number[] {
  const golden = (Math.sqrt(5) - 1) / 2;
  return Array.from({ length: questions }, (_, index) => Math.floor(((index * golden) % 1) * held));
}

function* cycle<T>(items: readonly T[]): Generator<T, never> {
  for (;;) for (const item of items) yield item;
}
