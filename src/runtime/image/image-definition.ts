import { z } from 'zod';
import { errorText, type InputError, invalidInput, KernelError } from '../../base/errors.js';
import { problemAt } from '../../base/input-issue.js';
import { toStandardSchema } from '../../base/schema/schema.js';
import type { Schema, StandardSchema } from '../../base/schema/schema-types.js';
import { label } from '../../base/spec.js';
import { capabilitySpec } from '../../capability/holding/capability-spec.js';
import { userEventName } from '../../events/event.js';
import { processKinds } from '../../kernel/process/process.js';
import { userSignal } from '../../kernel/specs.js';
import { retryPolicy } from '../step/retry.js';
import { stepList } from '../step/step-list.js';
import { parseSupervision, type Supervision } from '../supervision/supervision.js';
import { type CommandProgram, commandProgram } from './command-program.js';
import type { Image } from './image.js';

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
  output: z.custom<Schema>().optional(),
  tools: z.array(toolName).optional(),
  requires: z.array(capabilitySpec),
  recovery: z.enum(['rerun', 'fail']),
  retry: retryPolicy.optional(),
  events: z.record(z.string().regex(userEventName, 'is not the name of an event'), z.custom<Schema>()).optional(),
  signals: z.record(z.string(), z.custom<Schema>()).optional(),
  messages: z.custom<Schema>().optional(),
  build: label.optional(),
  recoveriesMax: z.number().int().min(1).max(1_000).optional(),
  run: z.custom<Image['run']>((value) => typeof value === 'function', 'is not a function').optional(),
  steps: stepList.optional(),
  supervision: z.custom<Supervision>().optional(),
  command: commandProgram.optional(),
  acknowledge: z.boolean().optional(),
  conversation: z.boolean().optional(),
});
type Definition = z.output<typeof definition>;

/** An image whose parts are all validated and copied: later changes of the caller's object have no effect. */
export type ParsedImage = Omit<
  Definition,
  'input' | 'output' | 'events' | 'signals' | 'messages' | 'supervision' | 'command'
> & {
  readonly input?: StandardSchema;
  readonly output?: StandardSchema;
  /** By name, without the prefix `user.`. */
  readonly events?: ReadonlyMap<string, StandardSchema>;
  /** By name, with the prefix `user.`. */
  readonly signals?: ReadonlyMap<string, StandardSchema>;
  readonly messages?: StandardSchema;
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
  throw invalidImage(['image', ...(issue?.path ?? [])].join('.'), problemAt(image, issue, 'not an image'));
}

function parseParts({ input, output, supervision, events, signals, messages, ...shape }: Definition): ParsedImage {
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
  if (output !== undefined && (kind === 'command' || supervision !== undefined))
    throw invalidImage('image.output', `does not go with ${kind === 'command' ? 'kind command' : 'a supervisor'}`);
  if (facts.acknowledge !== undefined && kind !== 'external')
    throw invalidImage('image.acknowledge', `does not go with kind ${kind}`);
  if (facts.conversation !== undefined && run === undefined)
    throw invalidImage('image.conversation', 'goes only with a body');
  assertExchanges({ events, signals, messages }, supervision === undefined ? kind : 'supervisor');
  return {
    ...facts,
    kind,
    ...(events === undefined ? {} : { events: toSchemas(events, 'image.events', (name) => name) }),
    ...(signals === undefined ? {} : { signals: toSchemas(signals, 'image.signals', parseSignalName) }),
    ...(messages === undefined ? {} : { messages: toStandardSchema(messages, 'image.messages') }),
    ...(run === undefined ? {} : { run }),
    ...(steps === undefined ? {} : { steps }),
    ...(command === undefined ? {} : { command: command as CommandProgram }),
    ...(input === undefined ? {} : { input: toStandardSchema(input, 'image.input') }),
    ...(output === undefined ? {} : { output: toStandardSchema(output, 'image.output') }),
    ...(supervision === undefined ? {} : { supervision: parseSupervision(supervision, 'image.supervision') }),
  };
}

/** Commands and supervisors receive nothing by a body of their own, and external work has no `ctx` to emit with. */
function assertExchanges(
  exchanges: Pick<Definition, 'events' | 'signals' | 'messages'>,
  kind: Definition['kind'] | 'supervisor',
): void {
  if (kind === 'agent' || kind === 'steps') return;
  for (const [name, value] of Object.entries(exchanges)) {
    if (value === undefined || (kind === 'external' && name !== 'events')) continue;
    throw invalidImage(`image.${name}`, `does not go with ${kind === 'supervisor' ? 'a supervisor' : `kind ${kind}`}`);
  }
}

function toSchemas(
  schemas: Readonly<Record<string, Schema>>,
  path: string,
  toName: (name: string, path: string) => string,
): ReadonlyMap<string, StandardSchema> {
  const parsed = new Map<string, StandardSchema>();
  for (const [given, schema] of Object.entries(schemas)) {
    const at = `${path}.${given}`;
    const name = toName(given, at);
    if (parsed.has(name)) throw invalidImage(at, `${name} has a schema already`);
    parsed.set(name, toStandardSchema(schema, at));
  }
  return parsed;
}

function parseSignalName(name: string, path: string): string {
  const parsed = userSignal.safeParse(name);
  if (parsed.success) return parsed.data;
  throw invalidImage(path, parsed.error.issues[0]?.message ?? 'is not the name of a signal');
}

function invalidImage(path: string, problem: string): InputError {
  return invalidInput(
    path,
    problem,
    'Make images with defineImage, defineSteps, defineSupervisor, commandImage or externalImage.',
  );
}
