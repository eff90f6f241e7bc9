import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type CapabilitySpec,
  defineTool,
  type JsonObject,
  type JsonValue,
  KernelError,
  type Schema,
} from '../../src/index.js';
import { newStore, openKernel } from '../support/kernel.js';
import { runsInSweep, runsOnStore } from '../support/seeded.js';
import { approveAll, deepFreeze, hashOfPlain } from '../support/tools/decisions.js';
import { callTools } from '../support/tools/file-fixture.js';

class Money {
  constructor(readonly amount: unknown) {}
  toJSON() {
    return { amount: this.amount };
  }
}

let turn = 0;

/** Values that differ from look to look, or that are not what they show. */
const disguises: readonly ((value: unknown) => unknown)[] = [
  (value) => value,
  (value) => ({ toJSON: () => value }),
  (value) => ({ toJSON: value }),
  (value) => new Money(value),
  (value) => new Proxy({ value }, { get: () => ++turn }),
  (value) => new Proxy([value], {}),
  (value) => Object.defineProperty({}, 'value', { get: () => [value, ++turn], enumerable: true }),
  (value) => Object.defineProperty({}, 'value', { value, enumerable: false }),
  (value) => Object.defineProperty([value, value], 1, { get: () => ++turn, enumerable: true }),
  (value) => Object.assign(Object.create({ inherited: value }), { own: value }),
  (value) => Object.assign(Object.create(null), { own: value }),
  (value) => Object.assign([value], { extra: value }),
  (value) => ({ [Symbol('hidden')]: value, [Symbol.toPrimitive]: () => 'x' }),
  (value) => JSON.parse(`{"__proto__":${JSON.stringify(value ?? null) ?? null}}`),
  (value) => ({ constructor: value, toString: value, valueOf: value, length: value, prototype: value }),
  (value) =>
    Object.fromEntries([
      ['then', value],
      ['value', value],
    ]),
  (value) => [value, undefined],
  (value) => ({ value: undefined, other: value }),
  (value) => new Array(3).fill(value, 1),
  (value) => Object.freeze({ value: Object.freeze([value]) }),
  (value) => new Map([['value', value]]),
  (value) => new Date(typeof value === 'number' ? value : 0),
  (value) => new String(value),
];

const leaf = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom<unknown>(-0, 0, NaN, Infinity, -Infinity, 1e21, 5e-324, 2 ** 53 + 1, 0.1 + 0.2, 10n, null, undefined),
  fc.constantFrom<unknown>(
    '',
    '-0',
    '1e3',
    '0x10',
    ' 1 ',
    'true',
    '\ud800',
    '\udc00x',
    '\u202eevil',
    '\0',
    '\u2028',
    'e\u0301',
    'é',
  ),
  fc.constantFrom<unknown>(true, false, Symbol('s'), () => 1, 'x'.repeat(100_000), '\u{1f600}'.repeat(1_000)),
  fc.double(),
  fc.jsonValue({ maxDepth: 3 }),
);
const hostile = fc
  .tuple(leaf, fc.array(fc.constantFrom(...disguises), { maxLength: 3 }))
  .map(([value, layers]) => layers.reduce((inner, layer) => attempt(() => layer(inner)), value));

function attempt<T>(make: () => T): T | null {
  try {
    return make();
  } catch {
    return null;
  }
}

const anyValue = z.unknown();
const schemas: Readonly<Record<string, Schema>> = {
  plain: z.object({ value: anyValue }),
  loose: z.looseObject({ value: anyValue }),
  number: z.object({ value: z.coerce.number() }),
  text: z.object({ value: z.coerce.string() }),
  flag: z.object({ value: z.coerce.boolean() }),
  date: z.object({ value: z.coerce.date() }),
  defaulted: z.object({ value: anyValue.default({ by: 'default' }), other: z.number().default(-0) }),
  caught: z.object({ value: z.number().catch(() => ++turn) }),
  changing: z.object({ value: z.unknown().transform((value) => ({ value, turn: ++turn })) }),
  later: z.object({ value: z.unknown().transform(async (value) => ({ value })) }),
  negative: z.object({ value: z.unknown().transform(() => [-0, { zero: -0 }]) }),
  ...Object.fromEntries(
    disguises.map((disguise, index) => [
      `as${index}`,
      z.object({ value: z.unknown().transform((value) => attempt(() => disguise(value))) }),
    ]),
  ),
  json: { type: 'object', properties: { value: { default: 1 } } },
  // Keeps what it was given, and changes it after its answer.
  mutating: {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) => {
        const kept = { value, late: 'before' };
        queueMicrotask(() => {
          kept.late = 'after';
        });
        setImmediate(() => {
          kept.late = 'long after';
        });
        return { value: kept };
      },
    },
  },
};
const runs = runsOnStore(runsInSweep(2_500));

describe('the arguments that were decided on', () => {
  it('are the arguments that the tool is run with', async () => {
    const ran: unknown[] = [];
    const tools = Object.entries(schemas).map(([name, input]) =>
      defineTool<JsonObject>({
        name,
        description: 'Keeps what it was given.',
        effect: 'pure',
        input,
        resources: (args: JsonObject) => {
          spoil(args);
          return [];
        },
        shown: (args: JsonObject) => {
          spoil(args);
          return args;
        },
        run: (args: JsonObject) => {
          ran.push(args);
          return null;
        },
      }),
    );
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false }, durability: 'normal', tools });
    const asked = await kernel.processes.spawn({ capabilities: [callTools] });
    await kernel.capabilities.ask(asked, { resource: 'tool:**', rights: ['call'] });
    const approvals = approveAll(kernel, store);
    let allowed = 0;
    let seen = '0';

    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.keys(schemas)),
        hostile,
        fc.boolean(),
        async (tool, value, isChanged) => {
          ran.length = 0;
          const args: Record<string, unknown> = { value };
          const call = outcomeOf(kernel.as(asked).tools.call(tool, args as JsonObject));
          // What the caller does to its own object afterwards is another call's business.
          if (isChanged) args.value = 'changed';
          const outcome = await call;
          const decided = approvals.take();
          if (outcome !== 'ok') {
            expect([outcome, decided, ran]).toEqual(['INVALID_INPUT', [], []]);
            return;
          }
          allowed++;
          expect(ran).toHaveLength(1);
          const hash = hashOfPlain(ran[0]);
          expect(decided.at(-1)).toMatchObject({ argsHash: hash });
          expect(hashOfPlain(deepFreeze(structuredClone(decided.at(-1)?.args)))).toBe(hash);
          const { items } = await kernel.audit.list({ action: 'tool.call', outcome: 'intent', after: seen });
          expect(items.map(({ facts }) => facts)).toMatchObject([{ tool, argsHash: hash }]);
          seen = String(items.at(-1)?.seq);
        },
      ),
      { numRuns: runs },
    );
    expect(allowed).toBeGreaterThan(runs / 10);
  }, 120_000);

  it('are those that the constraints of a capability accept, and no others', async () => {
    const ran: JsonObject[] = [];
    const run = (args: JsonObject) => {
      ran.push(args);
      return null;
    };
    const names = ['plain', 'number', 'text', 'defaulted', 'negative', 'later'];
    const tools = names.map((name) =>
      defineTool<JsonObject>({ name, description: 'Keeps it.', effect: 'pure', input: schemas[name] ?? {}, run }),
    );
    const kernel = await openKernel({ node: { executor: false }, durability: 'normal', tools });
    const free = await kernel.processes.spawn({ capabilities: [callTools] });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), hostile, hostile, async (tool, value, other) => {
        ran.length = 0;
        if ((await outcomeOf(kernel.as(free).tools.call(tool, { value } as JsonObject))) !== 'ok') return;
        const accepted = ran[0]?.value ?? null;
        if (JSON.stringify(accepted).length > 10_000) return;
        const rest = { other: { any: true, optional: true } } as const;
        const specs = [{ hash: hashOfPlain(accepted) }, { eq: accepted }].map(
          (atom): CapabilitySpec => ({
            resource: `tool:${tool}`,
            rights: ['call'],
            constraints: { value: atom, ...rest },
          }),
        );
        for (const spec of specs) {
          const pid = await kernel.processes.spawn({ capabilities: [spec] });
          ran.length = 0;
          const outcomes = [
            await outcomeOf(kernel.as(pid).tools.call(tool, { value } as JsonObject)),
            await outcomeOf(kernel.as(pid).tools.call(tool, { value: other } as JsonObject)),
          ];
          // Constraints cannot name such members, and refuse them.
          if (!hasUnnameable(accepted)) expect(outcomes[0]).toBe('ok');
          for (const outcome of outcomes) expect(['ok', 'CAPABILITY_DENIED', 'INVALID_INPUT']).toContain(outcome);
          expect(ran).toHaveLength(outcomes.filter((outcome) => outcome === 'ok').length);
          for (const args of ran) expect(hashOfPlain(args.value)).toBe(hashOfPlain(accepted));
        }
      }),
      { numRuns: runs / 5 },
    );
  }, 120_000);
});

function hasUnnameable(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, member]) => name === '*' || name.includes('.') || hasUnnameable(member));
}

/** Tries to change arguments from within a function of the tool. */
function spoil(args: JsonObject): void {
  for (const target of [args, args.value]) {
    if (typeof target !== 'object' || target === null) continue;
    for (const name of [...Object.keys(target), 'spoiled', '__proto__']) Reflect.set(target, name, 'spoiled');
  }
}

async function outcomeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'ok';
  } catch (error) {
    if (error instanceof KernelError) return error.code;
    throw error;
  }
}
