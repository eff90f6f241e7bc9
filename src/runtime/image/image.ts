import { type InputError, invalidInput } from '../../base/errors.js';
import type { JsonCompatible, JsonValue, ReadonlyJson } from '../../base/json.js';
import type { Schema, SchemaInput, SchemaOutput } from '../../base/schema/schema-types.js';
import type { CapabilitySpec, Resources } from '../../capability/holding/capability.js';
import type { ProcessKind, RecoveryDisposition } from '../../kernel/process/process.js';
import type { TypedImage } from '../../kernel/process/typed-image.js';
import type { ObjectHandle } from '../../memory/object/object.js';
import type { Syscalls } from '../run/body-syscalls.js';
import type { RetryPolicy } from '../step/retry.js';
import type { StepSpec } from '../step/step-list.js';
import type { Supervision } from '../supervision/supervision.js';
import type { CommandProgram } from './command-program.js';

/** The result of a process: JSON, or a handle to an object. */
export type ImageResult = JsonValue | ObjectHandle | undefined;

/**
 * A named, versioned program. `Input` is what its body gets, `Output` the type of the results of its processes, `Args` what a
 * spawn gives. It has at most one of `run`, `steps`, `supervision` and `command`.
 */
export interface Image<Input = unknown, Output = unknown, Args = Input> extends TypedImage<Input, Output, Args> {
  /** The kind of its processes: a body, steps, a command or work outside. */
  readonly kind: ProcessKind;
  /** The schema of the arguments. */
  readonly input?: Schema;
  /** The schema of the results. */
  readonly output?: Schema;
  /** The tools that its processes can see; absent: all. */
  readonly tools?: readonly string[];
  /** Capabilities that a process of it must hold. */
  readonly requires: readonly CapabilitySpec<Resources>[];
  /** The treatment of a process whose node is gone. */
  readonly recovery: RecoveryDisposition;
  /** When and how often a failed body is run again; absent: never. */
  readonly retry?: RetryPolicy;
  /** The events that its bodies emit, by name. */
  readonly events?: Readonly<Record<string, Schema>>;
  /** Schemas of the payloads of user signals, by name. */
  readonly signals?: Readonly<Record<string, Schema>>;
  /** The schema of messages that are sent to its processes. */
  readonly messages?: Schema;
  /** Whether `kernel.agents.say` takes messages to its processes. */
  readonly conversation?: boolean;
  /** Names the code behind this version. */
  readonly build?: string;
  /** The largest number of runs in a row that may be lost with their nodes. */
  readonly recoveriesMax?: number;
  /** The body. */
  readonly run?: ImageBody;
  /** The steps, of an image made by `defineSteps`. */
  readonly steps?: readonly StepSpec[];
  /** The children, of an image made by `defineSupervisor`. */
  readonly supervision?: Supervision;
  /** The program, of an image made by `commandImage`. */
  readonly command?: CommandProgram;
  /** Of an external image: a stop waits for the answer of the worker outside. */
  readonly acknowledge?: boolean;
}
/** `args` is the output of the input schema. */
type ImageBody = (ctx: Syscalls, args: never) => unknown;

/** Options of images whose bodies are run by nodes. */
interface BodyOptions {
  /**
   * Names the code behind this version, such as a commit; default: a hash of the text of its functions. A process whose
   * journal a build could not replay is run by another one.
   */
  readonly build?: string;
  /** A process whose runs were lost with their nodes this many times in a row, without getting on, fails as poisoned; default 5. */
  readonly recoveriesMax?: number;
}

/** The spec of an image with a function body. `Input` is what the body gets, `Result` what it returns. */
export interface ImageSpec<Input = JsonValue, Result = unknown> extends ImageParts<Input, Result> {
  /** Validates the arguments of a process before it is created; the body gets its output. */
  readonly input?: Schema;
  /** Validates the result when a process exits: one that does not fit fails the process with INVALID_OUTPUT. */
  readonly output?: Schema;
}

/** An image but for the schemas that its types come from. */
interface ImageParts<Input, Result> extends BodyOptions {
  readonly name: string;
  /** Default `1`. */
  readonly version?: string;
  /** The tools that its processes can see; absent: all. Seeing a tool is not authority to call it. */
  readonly tools?: readonly string[];
  /** Capabilities that a process of it must hold; they are checked, not granted. */
  readonly requires?: readonly CapabilitySpec<Resources>[];
  /** The treatment of a process whose node is gone; default `rerun`. */
  readonly recovery?: RecoveryDisposition;
  /** When and how often a failed body is run again; absent: never. */
  readonly retry?: RetryPolicy;
  /** The events that its bodies emit with `ctx.emit(NAME, data)`, by name; each is stored as `user.NAME`. */
  readonly events?: Readonly<Record<string, Schema>>;
  /** Schemas of the payloads of user signals, by the name of the signal. Others may have any payload. */
  readonly signals?: Readonly<Record<string, Schema>>;
  /** The schema of the bodies of messages that are sent to its processes. */
  readonly messages?: Schema;
  /**
   * Whether its processes are conversations: the body takes messages with `ctx.receive`, answers them with
   * `ctx.turns.answer`, and `kernel.agents.say` waits for that. Default false.
   */
  readonly conversation?: boolean;
  /** The body. What it returns is the result of the process. */
  readonly run: (ctx: Syscalls, args: Input) => Result | Promise<Result>;
}

/** Nothing for a body whose results are JSON, nothing or a handle; for any other, a body that it does not fit. */
type JsonResults<Result> = undefined extends Result
  ? unknown
  : [Result] extends [JsonCompatible<Result> | ObjectHandle]
    ? unknown
    : { readonly run: (ctx: Syscalls, args: never) => JsonCompatible<Result> | Promise<JsonCompatible<Result>> };

/** The result of an image for which only the type of the arguments is named: whatever JSON can be. */
type AnyJson = ReturnType<typeof JSON.parse>;

/** The types that a body may return where results have the output schema `Out`. */
type Returned<Out> = ReadonlyJson<SchemaInput<Out>>;

/**
 * An image with a function body. The input schema types the arguments of the body and of those who spawn it; the output
 * schema, or else what the body returns, types the results. Throws INVALID_INPUT without a body.
 *
 * @example
 * const square = defineImage({
 *   name: 'square',
 *   input: z.object({ n: z.number() }),
 *   run: async (ctx, { n }) => ({ square: n * n }),
 * });
 * const pid = await kernel.processes.spawn({ image: square, args: { n: 3 } });
 * const { square: nine } = await kernel.processes.value(pid);
 */
export function defineImage<const In extends Schema, Result>(
  spec: ImageParts<SchemaOutput<In>, Result> & { readonly input: In; readonly output?: never } & JsonResults<Result>,
): Image<SchemaOutput<In>, Result, SchemaInput<In>>;
/** Without an input schema arguments are not validated; their type is the one that the body declares. */
export function defineImage<Input = JsonValue, Result = AnyJson>(
  spec: ImageParts<Input, Result> & { readonly input?: never; readonly output?: never } & JsonResults<Result>,
): Image<Input, Result>;
export function defineImage<const In extends Schema, const Out extends Schema, const Result extends Returned<Out>>(
  spec: ImageParts<SchemaOutput<In>, Result> & { readonly input: In; readonly output: Out },
): Image<SchemaOutput<In>, SchemaOutput<Out>, SchemaInput<In>>;
export function defineImage<const Out extends Schema, const Result extends Returned<Out>, Input = JsonValue>(
  spec: ImageParts<Input, Result> & { readonly input?: never; readonly output: Out },
): Image<Input, SchemaOutput<Out>>;
export function defineImage(spec: ImageSpec<never, unknown>): Image {
  if (typeof spec?.run !== 'function') throw noBody();
  return { version: '1', requires: [], recovery: 'rerun', ...spec, kind: 'agent' };
}

function noBody(): InputError {
  return invalidInput(
    'spec.run',
    'is not a function',
    'Give it a body, or use externalImage for work that is done elsewhere.',
  );
}

/** An image that keeps children running. */
export interface SupervisorSpec extends Supervision, BodyOptions {
  readonly name: string;
  /** Default `1`. */
  readonly version?: string;
}

/**
 * An image whose processes keep their children running. A child's capabilities are delegated by the supervisor, which must
 * hold them. It exits when no child is left that it would restart, and fails with SUPERVISOR_INTENSITY when they fail too
 * often.
 *
 * @example
 * const team = defineSupervisor({
 *   name: 'team',
 *   strategy: 'one_for_one',
 *   intensity: 3,
 *   periodMs: 60_000,
 *   children: [{ name: 'crawler', image: 'crawler', restart: 'permanent' }],
 * });
 */
export function defineSupervisor(spec: SupervisorSpec): Image {
  const { name, version = '1', build, recoveriesMax, ...supervision } = { ...spec };
  return {
    name,
    version,
    kind: 'agent',
    requires: [],
    recovery: 'rerun',
    ...(build === undefined ? {} : { build }),
    ...(recoveriesMax === undefined ? {} : { recoveriesMax }),
    supervision,
  };
}

/** An image whose processes are commands. */
export interface CommandImageSpec<Args = JsonValue>
  extends Pick<ImageSpec, 'name' | 'version' | 'input' | 'requires'>,
    Omit<CommandProgram, 'args'> {
  /** The arguments of the program, or a function that makes them from the arguments of the process. */
  readonly args?: readonly string[] | ((input: Args) => readonly string[]);
}

/**
 * An image whose processes are subprocesses of the operating system. A process that spawns one needs `call` on the command.
 *
 * @example const grep = commandImage({ name: 'grep', command: 'grep', args: ({ text }: { text: string }) => ['-r', text] });
 */
export function commandImage<Args = JsonValue>(spec: CommandImageSpec<Args>): Image {
  const { name, version = '1', input, requires = [], ...command } = { ...spec };
  const named = { name, version, kind: 'command', requires, recovery: 'rerun' } as const;
  return { ...named, ...(input === undefined ? {} : { input }), command };
}

/** An image whose work is done outside the kernel. */
export interface ExternalImageSpec
  extends Pick<ImageSpec, 'name' | 'version' | 'input' | 'requires' | 'signals' | 'messages'> {
  /**
   * A process of it that is stopped stays `stopping` until the worker outside answers with complete, fail or exit, or its
   * grace is over. Default: it ends at once.
   */
  readonly acknowledge?: boolean;
}

/** An image without a body: its processes run elsewhere and are completed through the API. */
export function externalImage(spec: ExternalImageSpec): Image {
  return { version: '1', requires: [], recovery: 'rerun', ...spec, kind: 'external' };
}

/** The default image: a process of it lives until a caller ends it. */
export const baseImage: Image = externalImage({ name: 'base' });
