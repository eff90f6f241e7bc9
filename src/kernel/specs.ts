import { z } from 'zod';
import { docPages } from '../base/doc-pages.js';
import type { JsonValue } from '../base/json.js';
import {
  amount,
  idText,
  isAbortSignal,
  label,
  type PlainLimits,
  parseSpec,
  reasonText,
  storedText,
} from '../base/spec.js';
import { capabilitySpec, delegationSpec } from '../capability/holding/capability-spec.js';
import { parseRequest } from '../capability/resource/resource.js';
import { rights } from '../capability/resource/rights.js';
import { ruleSpec } from '../capability/rule/rule.js';
import { forkModes, ObjectHandle, objectTypes } from '../memory/object/object.js';
import { type ChargedDimension, chargedDimensions, chargeMax, depthMax } from './budget/budget.js';
import { processKinds } from './process/process.js';
import { controlSignals, type UserSignal } from './signal/signal.js';

/** The most characters of the value of an environment variable. */
export const variableCharsMax = 128 * 1024;

const json = z.custom<JsonValue>();
const handle = z.custom<ObjectHandle>((value) => ObjectHandle.is(value));
const durationMs = amount.max(Number.MAX_SAFE_INTEGER / 2);

export const ownerKeys = z.strictObject({
  session: label.optional(),
  turn: label.optional(),
  toolCall: label.optional(),
  terminal: label.optional(),
  hook: label.optional(),
  extension: label.optional(),
  sandbox: label.optional(),
  source: label.optional(),
});
const labels = z
  .record(label, storedText.max(1024))
  .refine((map) => Object.keys(map).length <= 64, 'has over 64 labels');
function perChargedDimension<S extends z.ZodType>(schema: S): Record<ChargedDimension, S> {
  return Object.fromEntries(chargedDimensions.map((dimension) => [dimension, schema])) as Record<ChargedDimension, S>;
}
const budget = z.strictObject({
  ...perChargedDimension(amount.optional()),
  children: amount.optional(),
  depth: amount.max(depthMax).optional(),
  wallMs: durationMs.optional(),
});
const goal = z.union([z.string(), handle, z.record(z.string(), json)]);

const secretReference = z.strictObject({
  secret: z.string().min(1).max(256).refine(isSecretName, 'is not the name of a secret'),
});
const environment = z.record(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not the name of a variable'),
  z.union([storedText.max(variableCharsMax), secretReference], "is neither a text without NUL nor { secret: 'NAME' }"),
);

/** Dots are for roots: of children only an id that an older version registered has any. */
export const spawnId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'is not an id: up to 64 letters, digits, dots, dashes, underscores');

/** The name of a queue: nodes claim from the queues that they name. */
export const queueName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'is not a queue: up to 64 letters, digits, dots, dashes, underscores');
const externalRef = storedText.min(1).max(512);

const imageName = storedText.min(1).max(256);
const deadlineMsMax = 366 * 24 * 60 * 60 * 1000;

const commonFields = {
  goal: goal.optional(),
  args: json.optional(),
  id: spawnId.optional(),
  name: label.optional(),
  labels: labels.optional(),
  owner: ownerKeys.optional(),
  queue: queueName.optional(),
  externalRef: externalRef.optional(),
  onConflict: z.enum(['refuse', 'keep']).optional(),
  budget: budget.default({}),
  onBudget: z.enum(['refuse', 'cancel']).default('refuse'),
  cwd: z.string().optional(),
  deadlineMs: amount.max(deadlineMsMax, 'is a duration, not a time: 366 days at most').optional(),
  env: environment.optional(),
  onParentExit: z.enum(['cancel', 'reparent', 'detach']).default('cancel'),
  held: z.boolean().default(false),
};

export const spawnSpec = z.strictObject({
  ...commonFields,
  image: imageName.optional(),
  capabilities: z.array(capabilitySpec).max(1024).default([]),
  ask: z.array(ruleSpec).max(256).optional(),
});
export const childSpec = z.strictObject({
  ...commonFields,
  /** Absent: the parent's. */
  image: imageName.optional(),
  delegate: z.array(delegationSpec).max(1024).default([]),
});
export const forkSpec = z.strictObject({
  ...childSpec.shape,
  mode: z.enum(forkModes).default('restricted'),
  view: z
    .strictObject({
      roots: z
        .array(z.union([handle, storedText]))
        .max(10_000)
        .optional(),
      types: z.array(z.enum(objectTypes)).optional(),
      tags: z.array(label).max(1024).optional(),
      rights: z.array(z.enum(rights)).optional(),
    })
    .optional(),
});
/** What roots get where their specs give none. */
export const rootDefaults = z.strictObject({
  image: imageName.optional(),
  budget: budget.optional(),
  deadlineMs: commonFields.deadlineMs,
});
export const execSpec = z.strictObject({
  image: imageName,
  args: json.optional(),
  goal: goal.optional(),
  preserveMemory: z.boolean().default(true),
  preserveCapabilities: z.boolean().default(false),
});
const argument = storedText.max(128 * 1024);
export const commandSpec = z.strictObject({
  argv: z
    .array(argument)
    .min(1)
    .max(4096)
    .refine(([program]) => program !== '', 'names no program'),
  cwd: z.string().optional(),
  env: environment.optional(),
  envMode: z.enum(['clean', 'patch', 'replace']).optional(),
  stdin: z.string().optional(),
  timeoutMs: durationMs.optional(),
  background: z.boolean().default(false),
  survive: z.boolean().default(false),
  owner: ownerKeys.optional(),
});
const osPid = z
  .number()
  .int()
  .min(2, 'is not the pid of a program that can be adopted')
  .max(2 ** 31 - 1);
const adoptedFields = {
  command: argument.min(1).optional(),
  args: z.array(argument).max(4096).optional(),
  cwd: storedText.min(1).max(4096).optional(),
  owner: ownerKeys.optional(),
};
export const adoptSpec = z.strictObject({
  osPid,
  groupPid: osPid.optional(),
  startedAt: amount.optional(),
  ...adoptedFields,
  parent: idText.optional(),
  name: label.optional(),
  deadlineMs: durationMs.optional(),
});
export const adoptedCheckpoint = z.strictObject(adoptedFields);
export const adoptedEnd = z
  .strictObject({ exitCode: z.number().int().optional(), error: reasonText.optional() })
  .refine(({ exitCode, error }) => exitCode === undefined || error === undefined, 'has an exit code and an error');
const outputPosition = { stream: z.enum(['stdout', 'stderr']).default('stdout'), offset: amount.default(0) };
const mebibyte = 1024 * 1024;
export const readOutputOptions = z.strictObject({
  ...outputPosition,
  length: z
    .number()
    .int()
    .min(1)
    .max(mebibyte)
    .default(mebibyte / 16),
});
export const waitOutputOptions = z.strictObject({ ...outputPosition, timeoutMs: durationMs.optional() });
export const exitSpec = z.strictObject({
  result: json.optional(),
  failed: z.boolean().default(false),
  message: reasonText.optional(),
  exitCode: z.number().int().optional(),
});
export const usageSpec = z.strictObject(perChargedDimension(amount.max(chargeMax).optional()));
/** Usage of something that has happened: never refused for its size, and no more than one charge may be. */
export const settledUsageSpec = z.strictObject(
  perChargedDimension(amount.transform((used) => Math.min(used, chargeMax)).optional()),
);
export const reserveOptions = z.strictObject({ partial: z.boolean().default(false) });
export const limitsSpec = budget;
export const progressSpec = z.strictObject({
  done: z.number().nonnegative(),
  total: z.number().nonnegative().optional(),
  text: reasonText.optional(),
});
export const waitOptions = z.strictObject({
  timeoutMs: durationMs.optional(),
  signal: z.custom<AbortSignal>(isAbortSignal, 'is not an AbortSignal').optional(),
  keep: z.boolean().optional(),
});
/** The schema of an answer is taken out of the options before they are parsed; here it is only named. */
const schemaOption = { schema: z.undefined().optional() };
export const receiveOptions = waitOptions.omit({ keep: true }).extend({ from: idText.optional(), ...schemaOption });
export const pidList = z.array(idText).max(100_000);
export const signalScope = z.strictObject({
  tree: idText.optional(),
  root: idText.optional(),
  name: label.optional(),
  labels: labels.optional(),
  image: imageName.optional(),
  kind: z.enum(processKinds).optional(),
  node: storedText.min(1).max(256).optional(),
  queue: queueName.optional(),
  externalRef: externalRef.optional(),
  owner: ownerKeys.optional(),
});
export const signalOptions = z.strictObject({
  reason: reasonText.optional(),
  payload: json.optional(),
  tree: z.boolean().optional(),
  graceMs: durationMs.optional(),
  id: label.optional(),
});
export const cancelOptions = signalOptions.pick({ graceMs: true });
export const retryOptions = z.strictObject({
  version: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/, 'is not a version: letters, digits, dots, dashes, slashes')
    .optional(),
});
export const payloadOptions = signalOptions.pick({ payload: true });
const userName = /^user\.[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
export const userSignalName = z.custom<UserSignal>(
  (value) => typeof value === 'string' && userName.test(value),
  `is not a user signal: user.NAME; use the calls ${controlSignals.join(', ')} for the others`,
);
export const signalName = z.union([
  z.enum(controlSignals),
  z.custom<UserSignal>(
    (value) => typeof value === 'string' && userName.test(value),
    `is not a signal: ${controlSignals.join(', ')} or user.NAME`,
  ),
]);
/** The name of a user signal, with the prefix `user.` or without. */
export const userSignal = z
  .string()
  .transform((name) => (name.startsWith('user.') ? name : `user.${name}`))
  .pipe(z.string().regex(userName, 'is not the name of a signal: NAME or user.NAME'));

/** Whether it is the one spelling of a resource `secret:NAME`. */
function isSecretName(name: string): boolean {
  try {
    return parseRequest(`secret:${name}`).text === `secret:${name}`;
  } catch {
    // It is no resource.
    return false;
  }
}

/** Parses the input of a caller; handles and abort signals are not copied. Throws INVALID_INPUT. */
export function parse<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  name: string,
  limits?: PlainLimits,
): z.output<Schema> {
  return parseSpec(
    schema,
    input,
    name,
    (value) => ObjectHandle.is(value) || isAbortSignal(value),
    limits,
    docPages.processes,
  );
}

export function parsePid(input: unknown, name = 'pid'): string {
  return parse(idText, input, name);
}

export function parsePath(input: unknown): string {
  return parse(z.string().max(4096), input, 'path');
}

export function parseReason(input: unknown, name: string): string {
  return parse(reasonText, input, name);
}
