import { type InputError, invalidInput } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import type { CapabilitySpec, Resources } from '../../capability/holding/capability.js';
import type { ProcessKind, RecoveryDisposition } from '../../kernel/process/process.js';
import type { ObjectHandle } from '../../memory/object/object.js';
import type { Syscalls } from '../run/body-context.js';
import type { RetryPolicy } from '../step/retry.js';
import type { StepSpec } from '../step/step-list.js';
import type { Supervision } from '../supervision/supervision.js';
import type { CommandProgram } from './command-program.js';
import type { Schema } from './schema.js';

/** The result of a process: JSON, or a handle to an object. */
export type ImageResult = JsonValue | ObjectHandle | undefined;

/** The return value of a body. */
type BodyReturn = ImageResult | Promise<ImageResult> | Promise<void>;

/** A named, versioned program, used once it is registered. It has at most one of `run`, `steps`, `supervision` and `command`. */
export interface Image {
  readonly name: string;
  readonly version: string;
  readonly kind: ProcessKind;
  readonly input?: Schema;
  readonly tools?: readonly string[];
  readonly requires: readonly CapabilitySpec<Resources>[];
  readonly recovery: RecoveryDisposition;
  readonly retry?: RetryPolicy;
  readonly events?: Readonly<Record<string, Schema>>;
  readonly signals?: Readonly<Record<string, Schema>>;
  readonly messages?: Schema;
  readonly build?: string;
  readonly recoveriesMax?: number;
  readonly run?: ImageBody;
  readonly steps?: readonly StepSpec[];
  readonly supervision?: Supervision;
  readonly command?: CommandProgram;
  /** Of an external image: a stop waits for the answer of the worker outside. */
  readonly acknowledge?: boolean;
}
/** `args` is the output of the input schema. */
type ImageBody = (ctx: Syscalls, args: never) => BodyReturn;

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

export interface ImageSpec<Args = JsonValue> extends BodyOptions {
  readonly name: string;
  readonly version?: string;
  readonly input?: Schema;
  /** The tools that its processes can see; absent: all. Seeing a tool is not authority to call it. */
  readonly tools?: readonly string[];
  /** Capabilities that a process of it must hold; they are checked, not granted. */
  readonly requires?: readonly CapabilitySpec<Resources>[];
  readonly recovery?: RecoveryDisposition;
  readonly retry?: RetryPolicy;
  /** The events that its bodies emit with `ctx.emit(NAME, data)`, by name; each is stored as `user.NAME`. */
  readonly events?: Readonly<Record<string, Schema>>;
  /** Schemas of the payloads of user signals, by the name of the signal. Others may have any payload. */
  readonly signals?: Readonly<Record<string, Schema>>;
  /** The schema of the bodies of messages that are sent to its processes. */
  readonly messages?: Schema;
  readonly run: (ctx: Syscalls, args: Args) => BodyReturn;
}

/**
 * An image with a function body. Throws INVALID_INPUT without one.
 *
 * @example const summarizer = defineImage({ name: 'summarizer', run: async (ctx, args) => … });
 */
export function defineImage<Args = JsonValue>(spec: ImageSpec<Args>): Image {
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

export interface StepsSpec extends Omit<ImageSpec, 'run'> {
  readonly steps: readonly StepSpec[];
}

/**
 * An image that is a list of named durable steps. The arguments are the first state, the result of a step is the next one,
 * and the last is the result of the process. A completed step never runs again; a pause takes effect between two steps.
 *
 * @example
 * const report = defineSteps({
 *   name: 'report',
 *   steps: [
 *     { name: 'collect', run: async (ctx, { topic }) => collect(topic) },
 *     { name: 'write', run: async (ctx, sources) => write(sources), retry: { attempts: 3 } },
 *   ],
 * });
 */
export function defineSteps(spec: StepsSpec): Image {
  return { version: '1', requires: [], recovery: 'rerun', ...spec, kind: 'steps' };
}

export interface SupervisorSpec extends Supervision, BodyOptions {
  readonly name: string;
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
