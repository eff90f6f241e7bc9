import { z } from 'zod';
import { errorText, type InputError, invalidInput, KernelError } from '../../base/errors.js';
import { capabilitySpec } from '../../capability/holding/capability-spec.js';
import { processKinds } from '../../kernel/process/process.js';
import { retryPolicy } from '../step/retry.js';
import { stepList } from '../step/step-list.js';
import { parseSupervision, type Supervision } from '../supervision/supervision.js';
import { type CommandProgram, commandProgram } from './command-program.js';
import type { Image } from './image.js';
import { type Schema, type StandardSchema, toStandardSchema } from './schema.js';

const imageWord = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/, 'is not a name: letters, digits, dots, dashes, slashes');
const toolName = z
  .string()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9._/-]{0,127}(\/\*\*)?$/, 'is not the name of a tool, nor NAME/** for all below it');
const definition = z.strictObject({
  name: imageWord,
  version: imageWord,
  kind: z.enum(processKinds),
  input: z.custom<Schema>().optional(),
  tools: z.array(toolName).optional(),
  requires: z.array(capabilitySpec),
  recovery: z.enum(['rerun', 'fail']),
  retry: retryPolicy.optional(),
  run: z.custom<Image['run']>((value) => typeof value === 'function', 'is not a function').optional(),
  steps: stepList.optional(),
  supervision: z.custom<Supervision>().optional(),
  command: commandProgram.optional(),
  acknowledge: z.boolean().optional(),
});
type Definition = z.output<typeof definition>;

/** An image whose parts are all validated and copied: later changes of the caller's object have no effect. */
export type ParsedImage = Omit<Definition, 'input' | 'supervision' | 'command'> & {
  readonly input?: StandardSchema;
  readonly supervision?: Supervision;
  readonly command?: CommandProgram;
};

/** Parses a caller's object, which may be anything and have getters that throw. Throws INVALID_INPUT with the path. */
export function parseImage(image: unknown): ParsedImage {
  try {
    return parseParts(parseShape(image));
  } catch (error) {
    if (error instanceof KernelError) throw error;
    throw invalidImage('image', `could not be read: ${errorText(error)}`);
  }
}

function parseShape(image: unknown): Definition {
  const parsed = definition.safeParse(image);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw invalidImage(['image', ...(issue?.path ?? [])].join('.'), issue?.message ?? 'not an image');
}

function parseParts({ input, supervision, ...shape }: Definition): ParsedImage {
  const { kind, run, steps, command, ...facts } = shape;
  if (kind === 'steps' && steps === undefined) throw invalidImage('image.steps', 'is missing');
  if (kind !== 'steps' && steps !== undefined) throw invalidImage('image.steps', `does not go with kind ${kind}`);
  if (supervision !== undefined && kind !== 'agent')
    throw invalidImage('image.supervision', `does not go with kind ${kind}`);
  if (run !== undefined && (steps ?? supervision) !== undefined)
    throw invalidImage('image.run', 'is not its only program');
  if (kind === 'command' && command === undefined) throw invalidImage('image.command', 'is missing');
  if (kind === 'agent' && (run ?? supervision) === undefined) throw invalidImage('image.run', 'is missing');
  if (command !== undefined && kind !== 'command') throw invalidImage('image.command', `does not go with kind ${kind}`);
  if (kind === 'command' && (run ?? steps) !== undefined)
    throw invalidImage('image.run', 'does not go with kind command');
  if (facts.acknowledge !== undefined && kind !== 'external')
    throw invalidImage('image.acknowledge', `does not go with kind ${kind}`);
  return {
    ...facts,
    kind,
    ...(run === undefined ? {} : { run }),
    ...(steps === undefined ? {} : { steps }),
    ...(command === undefined ? {} : { command: command as CommandProgram }),
    ...(input === undefined ? {} : { input: toStandardSchema(input, 'image.input') }),
    ...(supervision === undefined ? {} : { supervision: parseSupervision(supervision, 'image.supervision') }),
  };
}

function invalidImage(path: string, problem: string): InputError {
  return invalidInput(
    path,
    problem,
    'Make images with defineImage, defineSteps, defineSupervisor, commandImage or externalImage.',
  );
}
