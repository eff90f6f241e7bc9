import { z } from 'zod';
import type { Clock } from '../../base/clock.js';
import { KernelError } from '../../base/errors.js';
import { timerMsMax } from '../../base/spec.js';
import type { CapabilitySpec } from '../../capability/holding/capability.js';
import { defineTool, type Tool, type ToolContext } from '../tool.js';

const requestArgs = z.strictObject({
  resource: z.string().describe('What you want to use, as a pattern such as tool:search or fs:docs/**.'),
  rights: z.array(z.string()).min(1).describe('Such as ["call"] or ["read", "list"].'),
  constraints: z.record(z.string(), z.json()).describe('Limits on arguments that you accept.').optional(),
  uses: z.number().int().min(1).describe('How often, when a few times are enough.').optional(),
});

const askArgs = z.strictObject({
  question: z.string().min(1).describe('What you want to know, in plain words.'),
  choices: z.array(z.string()).min(1).max(256).describe('The answers to choose from; absent: any.').optional(),
  timeoutMs: z.number().int().min(1).describe('Answers with answered: false when it takes longer.').optional(),
});

/** The tools for questions, requests for authority and the time. */
export function kernelTools(clock: Clock): Tool[] {
  return [
    defineTool({
      name: 'capability.request',
      description:
        'Asks a person for authority that you do not have, and waits for the answer. Ask for no more than you need.',
      effect: 'idempotent',
      input: requestArgs,
      timeoutMs: timerMsMax,
      run: request,
    }),
    defineTool({
      name: 'human.ask',
      description: 'Asks a person a question, and waits for the answer.',
      effect: 'idempotent',
      input: askArgs,
      timeoutMs: timerMsMax,
      run: ask,
    }),
    defineTool({
      name: 'clock.now',
      description: 'Tells the time, in milliseconds since 1970 and as text in UTC.',
      effect: 'pure',
      input: z.strictObject({}),
      run: () => {
        const now = clock.now();
        return { now, iso: new Date(now).toISOString() };
      },
    }),
  ];
}

async function request(spec: z.output<typeof requestArgs>, { process }: ToolContext) {
  const { id, resource, rights } = await process.capabilities.request(spec as object as CapabilitySpec);
  return { capability: id, resource, rights: [...rights] };
}

/** A call that is repeated finds its question again by the key of the call. */
async function ask(args: z.output<typeof askArgs>, { process, idempotencyKey, signal }: ToolContext) {
  const { question, choices, timeoutMs } = args;
  const options = {
    id: idempotencyKey,
    signal,
    ...(choices === undefined ? {} : { choices }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
  try {
    return { answered: true, answer: await process.ask(question, options) };
  } catch (error) {
    if (error instanceof KernelError && error.code === 'WAIT_TIMEOUT') return { answered: false };
    throw error;
  }
}
