import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonObject, type JsonValue, type Kernel, KernelError, type Pid } from '../../src/index.js';
import { anyCommand } from '../support/command-fixture.js';
import { openKernel } from '../support/kernel.js';
import { runsInSweep } from '../support/seeded.js';
import { deepFreeze, hashOfPlain } from '../support/tools/decisions.js';
import { callTools } from '../support/tools/file-fixture.js';

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(
    '',
    ' ',
    '\0',
    '\ud800',
    '\u202eevil',
    'e\u0301',
    '__proto__',
    'constructor',
    '../..',
    '*',
    'x'.repeat(5_000),
  ),
);
/** Longer arguments of commands are not shown in full, and records have no hash of those. */
const shortText = text.filter(({ length }) => length < 100);
const value = fc.oneof(
  text,
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>,
  fc.constantFrom<unknown>(-0, 2 ** 53 + 1, 1e-7, NaN, undefined, { toJSON: 1 }, [[-0]], JSON.parse('{"__proto__":1}')),
);

/** A process without arguments has an empty object. */
const givenValue = value.filter((given) => given !== undefined);

interface Family {
  readonly kernel: Kernel;
  readonly pid: Pid;
  readonly child: Pid;
}
/** What a call has done, told from the state of the kernel, in the form of the arguments that ask for it. */
type Told = (family: Family, result: JsonObject, asked: Asked) => Promise<object>;
/** The question that a person was asked during the call. */
interface Asked {
  question?: { readonly question: string; readonly choices?: readonly JsonValue[] };
}

const told: Readonly<Record<string, { readonly args: fc.Arbitrary<object>; readonly effect: Told }>> = {
  'memory.write': {
    args: fc.record(
      { payload: value, name: text, title: text, tags: fc.array(text, { maxLength: 2 }) },
      { requiredKeys: ['payload', 'name', 'title', 'tags'] },
    ),
    effect: async ({ kernel }, { object }) => {
      const { payload, name, title, tags } = await kernel.memory.inspect(object as string);
      return { payload, name, title, tags };
    },
  },
  'message.send': {
    args: fc.record({ message: value }),
    effect: async ({ kernel, child }) => {
      const { body } = await kernel.as(child).receive({ timeoutMs: 0 });
      return { to: child, message: body };
    },
  },
  'human.ask': {
    args: fc.record({ question: text, choices: fc.array(text, { minLength: 1, maxLength: 3 }) }),
    effect: async (_family, _result, { question }) => ({ question: question?.question, choices: question?.choices }),
  },
  'process.spawn': {
    args: fc.record({ args: givenValue, goal: text, name: text, deadlineMs: fc.constantFrom(60_000, 0, -1, 1.5) }),
    effect: async ({ kernel }, { pid }) => childTold(kernel, pid as Pid),
  },
  'process.fork': {
    args: fc.record({ args: givenValue, goal: text, name: text, deadlineMs: fc.constantFrom(60_000) }),
    effect: async ({ kernel }, { pid }) => childTold(kernel, pid as Pid),
  },
  'capability.request': {
    args: fc.record({
      resource: fc.oneof(text, fc.constantFrom('tool:x', 'fs:docs/**', 'tool:**', 'tool:X\u0301')),
      rights: fc.constantFrom<readonly string[]>(['call'], ['read'], ['grant']),
      uses: fc.constantFrom(1, 2, 0, 2 ** 40),
    }),
    effect: async ({ kernel, pid }, { capability }) => {
      const held = (await kernel.capabilities.list(pid)).find(({ id }) => id === capability);
      return { resource: held?.resource, rights: held?.rights, uses: held?.uses };
    },
  },
  'command.run': {
    args: fc.record({
      argv: fc.array(shortText, { maxLength: 3 }).map((args) => ['printf', '%s\\0', 'first', ...args]),
    }),
    effect: async (_family, { stdout, exitCode }) => {
      expect(exitCode).toBe(0);
      return { argv: ['printf', '%s\\0', ...String(stdout).split('\0').slice(0, -1)], timeoutMs: 120_000 };
    },
  },
};

async function childTold(kernel: Kernel, pid: Pid): Promise<object> {
  const { args, name, deadlineAt, createdAt } = await kernel.processes.get(pid);
  const { text: goal } = (await kernel.processes.goal(pid)).payload as JsonObject;
  return { args, name, goal, deadlineMs: (deadlineAt ?? 0) - createdAt };
}

/** Makes the call. A person answers each question about it, with `edited` in the place of the arguments where that is given. */
async function callAsked({ kernel, pid }: Family, tool: string, args: object, edited: object | undefined) {
  const asked: Asked & { decided?: string } = {};
  using _approvals = kernel.events.on('approval.requested', async ({ data: { approval: id } }) => {
    const approval = await kernel.approvals.get(id);
    const isCall = approval.resource === `tool:${tool}`;
    const change = isCall && edited !== undefined && approval.edited === undefined ? { args: edited as JsonValue } : {};
    const answered = kernel.approvals.answer(id, { decision: 'once', by: 'ann', ...change });
    await answered.catch(() => kernel.approvals.answer(id, { decision: 'deny', by: 'ann' }));
  });
  using _questions = kernel.events.on('question.asked', async ({ data }) => {
    asked.question = await kernel.questions.get(data.question);
    await kernel.questions.answer(data.question, { answer: asked.question.choices?.[0] ?? null, by: 'ann' });
  });
  try {
    const result = (await kernel.as(pid).tools.call(tool, args as JsonObject)) as JsonObject;
    return { result, asked };
  } catch (error) {
    if (error instanceof KernelError) return { code: error.code, asked };
    throw error;
  }
}

/** The hash of the arguments of the newest call that was allowed. */
async function decidedHash(kernel: Kernel, pid: Pid): Promise<unknown> {
  const { items } = await kernel.audit.list({ action: 'tool.call', outcome: 'intent', target: pid, limit: 10_000 });
  return items.at(-1)?.facts?.argsHash;
}

describe('the arguments of a tool that acts for a process', () => {
  for (const [tool, { args, effect }] of Object.entries(told)) {
    it(`${tool}: what was decided on is what is done, also where a person has edited them`, async () => {
      const kernel = await openKernel({ node: { executor: false } });
      let done = 0;
      const property = fc.asyncProperty(args, fc.option(args, { nil: undefined }), async (given, edited) => {
        const pid = await kernel.processes.spawn({ capabilities: [callTools, anyCommand] });
        const child = await kernel.processes.spawnChild(pid, {});
        await kernel.capabilities.ask(pid, { resource: 'tool:**', rights: ['call'] });
        const family = { kernel, pid, child };
        const to = tool === 'message.send' ? { to: child } : {};
        const change = edited === undefined ? undefined : { ...edited, ...to };
        const { result, asked } = await callAsked(family, tool, { ...given, ...to }, change);
        if (result === undefined) return;
        done++;
        const happened = JSON.parse(JSON.stringify(await effect(family, result, asked)));
        expect(hashOfPlain(deepFreeze(happened))).toBe(await decidedHash(kernel, pid));
      });
      await fc.assert(property, { numRuns: runsInSweep(150) });
      expect(done).toBeGreaterThan(0);
    }, 120_000);
  }
});
