import { realpathSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import type { Signer } from './audit/checkpoint/signer.js';
import { listeningAt, parseListen } from './base/address/postgres-address.js';
import { parseStoreAddress, realFile, type StoreAddress } from './base/address/store-address.js';
import type { Clock } from './base/clock.js';
import { docPages } from './base/doc-pages.js';
import { InputError, invalidInput } from './base/errors.js';
import type { IdSource } from './base/ids.js';
import { assertNoPromise, issueError } from './base/input-issue.js';
import type { Logger } from './base/logger.js';
import { amount, storedText, timerMsMax } from './base/spec.js';
import type { RootDefaults } from './kernel/lifecycle/root-defaults.js';
import type { SpawnPolicy } from './kernel/lifecycle/spawn-gate.js';
import { defaultQueue } from './kernel/process/process.js';
import { queueName, rootDefaults } from './kernel/specs.js';
import { segmentsWithin } from './kernel/workspace/working-directory.js';
import type { Image } from './runtime/image/image.js';
import { type McpTarget, type ParsedTarget, parseMcpTarget, parseServerName } from './tools/mcp/mcp-target.js';
import type { ExternalTool, Tool } from './tools/tool.js';

/** Options of `createKernel`. */
export interface KernelOptions {
  /**
   * `:memory:` (default), `sqlite:PATH`, `PATH.db`, or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, whose tables lie in the schema
   * `procura`, or in the one of `?schema=NAME`. Kernels with the same address share one process table.
   */
  readonly store?: string;
  /**
   * The folder for the signing key, published checkpoints and the output of commands, readable for its owner only; each store
   * has one of its own. Default: `FILE.state` beside the database; for PostgreSQL `procura/ID` in `$XDG_STATE_HOME` (`~/.local/state`), by the id of
   * the audit log; for `:memory:` none, and a temporary folder for output.
   */
  readonly state?: string;
  /** Root of all working directories; default: the current directory. */
  readonly workspace?: string;
  /** Settings of the node that runs processes in this program. */
  readonly node?: {
    /** The name of the node, for people. */
    readonly name?: string;
    /** false: runs no bodies, recovery or timers, for tools that open the database of a running kernel. */
    readonly executor?: boolean;
    /** false: claims nothing until `kernel.start()`, for those who register images and tools later. */
    readonly start?: boolean;
    /** The queues that it claims from; default `['default']`. */
    readonly queues?: readonly string[];
    /** The number of bodies that run at once; default 64. */
    readonly concurrency?: number;
    /** After this time without a renewal of its lease, other nodes take over its processes; default 30,000. */
    readonly leaseMs?: number;
    /** The interval at which the store is polled for commits of other programs; default 250. */
    readonly pollMs?: number;
    /**
     * On PostgreSQL: the address at which notifications of commits are listened for, default that of the store, or false for
     * none, as behind a pooler in transaction mode. Without them commits of others are found at the pace of `pollMs`.
     */
    readonly listen?: string | false;
  };
  /** Whether an acknowledged call survives a power cut; default `full` for files. */
  readonly durability?: 'full' | 'normal';
  /** For list, verify and export; opens a broken log too. */
  readonly readOnly?: boolean;
  /** The bytes of JSON that an object, a goal or a result may have; default 1 MiB, at most 64 MiB. */
  readonly payloadBytesMax?: number;
  /** Images that are registered when the kernel opens. */
  readonly images?: readonly Image[];
  /** Image, limits and deadline of roots whose specs give none; each limit of the budget by itself. */
  readonly defaults?: RootDefaults;
  /**
   * Called before a process is created in this program: by spawn, spawnChild, fork, a tool or a command. What it throws
   * refuses the process (SPAWN_REFUSED, with the message as the reason). Other programs on the store have their own.
   */
  readonly beforeSpawn?: NonNullable<SpawnPolicy['beforeSpawn']>;
  /**
   * Gives the values of secrets, which variables refer to as `{ secret: 'NAME' }`. Called when a program is started whose
   * process may read `secret:NAME`; what it answers is stored nowhere.
   */
  readonly secrets?: (name: string) => string | undefined | Promise<string | undefined>;
  /** Besides those that come with the kernel. */
  readonly tools?: readonly (Tool | ExternalTool)[];
  /**
   * MCP servers by name, to be connected before anything is claimed: `createKernel` resolves when all are connected or
   * `mcpWaitMs` is over. Those that are missing then are told to the logger, and tried until they are connected.
   */
  readonly mcp?: Readonly<Record<string, McpTarget>>;
  /** Default 10,000. */
  readonly mcpWaitMs?: number;
  /** Signs checkpoints of the audit log; default: a key in the state folder. */
  readonly signer?: Signer;
  /** Gives the time; default: that of the system. */
  readonly clock?: Clock;
  /** Makes ids; default: ids that sort by time. */
  readonly ids?: IdSource;
  /**
   * Gets warnings and errors that no caller is told. Default, and `console`: one line each on standard error, the same message
   * at most once in 10 s. `debug`: every event that is committed here as well. `silent`: nothing.
   */
  readonly logger?: 'silent' | 'console' | 'debug' | Logger;
  /** Seeds clock, ids, salts and the signing key, so that a repeated run gives the same audit root. */
  readonly seed?: string;
  /** The operator of this kernel in audit records; default: the user of the program. */
  readonly operator?: string;
  /** Loaded last: their bindings replace the kernel's own. */
  readonly modules?: readonly KernelModule[];
}

/** Bindings for the container of a kernel: a `ContainerModule` of inversify. */
export interface KernelModule {
  readonly id: number;
  /** Called with the container when the kernel opens. */
  load(options: never): void | Promise<void>;
}

const mebibyte = 1024 * 1024;
const part = <T>() => z.custom<T>((value) => typeof value === 'object' && value !== null, 'is not an object');
const schema = z.strictObject({
  store: z.string().min(1).default(':memory:'),
  state: z.string().min(1).optional(),
  workspace: z.string().min(1).optional(),
  node: z
    .strictObject({
      name: storedText.min(1).max(256).optional(),
      executor: z.boolean().default(true),
      start: z.boolean().default(true),
      queues: z.array(queueName).min(1, 'names no queue').max(1_000).default([defaultQueue]),
      concurrency: z.number().int().min(1).default(64),
      leaseMs: z.number().int().min(100).max(86_400_000).default(30_000),
      pollMs: z.number().int().min(1).max(60_000).default(250),
      listen: z.union([z.string().min(1), z.literal(false)]).optional(),
    })
    .prefault({}),
  durability: z.enum(['full', 'normal']).default('full'),
  readOnly: z.boolean().default(false),
  payloadBytesMax: z
    .number()
    .int()
    .min(1024)
    .max(64 * mebibyte)
    .default(mebibyte),
  images: z.array(part<Image>()).default([]),
  defaults: rootDefaults.default({}),
  beforeSpawn: z
    .custom<NonNullable<KernelOptions['beforeSpawn']>>((value) => typeof value === 'function', 'is not a function')
    .optional(),
  secrets: z
    .custom<NonNullable<KernelOptions['secrets']>>((value) => typeof value === 'function', 'is not a function')
    .optional(),
  tools: z.array(part<Tool | ExternalTool>()).default([]),
  mcp: part<NonNullable<KernelOptions['mcp']>>().default({}),
  mcpWaitMs: amount.max(timerMsMax).default(10_000),
  signer: part<Signer>().optional(),
  clock: part<Clock>().optional(),
  ids: part<IdSource>().optional(),
  logger: z
    .custom<NonNullable<KernelOptions['logger']>>(isLogger, "is not 'silent', 'console', 'debug' or a logger")
    .default('console'),
  seed: z.string().optional(),
  operator: storedText.min(1).max(256).optional(),
  modules: z.array(z.custom<KernelModule>(isModule, 'is not a ContainerModule of inversify')).default([]),
});

/** The class is not asked for: the module may come from another copy of inversify. */
function isModule(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'load' in value && typeof value.load === 'function';
}

/** A word for one of the kernel's own, or an object with the methods of one. */
function isLogger(value: unknown): boolean {
  if (typeof value === 'string') return ['silent', 'console', 'debug'].includes(value);
  if (typeof value !== 'object' || value === null) return false;
  const { warn, error } = value as Partial<Record<keyof Logger, unknown>>;
  return typeof warn === 'function' && typeof error === 'function';
}

export type ParsedOptions = Omit<z.output<typeof schema>, 'store' | 'state' | 'mcp' | 'workspace'> & {
  readonly mcp: ReadonlyMap<string, ParsedTarget>;
  /** The real path of the workspace. */
  readonly workspace: string;
  /** False where the workspace is the current folder because nobody named one. */
  readonly isWorkspaceNamed: boolean;
  readonly address: StoreAddress;
  /** The real path of the state folder; null when the kernel keeps no files. */
  readonly state: string | null;
};

/** As deep as `options.defaults.budget.tokens`. */
const optionsDepth = 3;

/** Options with defaults, a database path and a real workspace. Throws INVALID_INPUT. */
export function parseOptions(rawOptions: KernelOptions): ParsedOptions {
  assertNoPromise(rawOptions, 'options', docPages.options, optionsDepth);
  const parsed = schema.safeParse(rawOptions);
  if (!parsed.success) throw issueError(schema, rawOptions, 'options', parsed.error, docPages.options);
  // The text of the address may hold a password: it is not kept.
  const { store, ...options } = parsed.data;
  const address = listenAt(parseStoreAddress(store), options.node.listen);
  const workspace = realWorkspace(options.workspace ?? '.');
  const state = stateFolder(options.state, address);
  assertStateOutside(state, workspace);
  const mcp = parseServers(options.mcp);
  if (options.readOnly && mcp.size > 0) throw serversOfReader();
  return { ...options, workspace, isWorkspaceNamed: options.workspace !== undefined, address, state, mcp };
}

/** The address with what `node.listen` says of notifications. */
function listenAt(address: StoreAddress, listen: string | false | undefined): StoreAddress {
  if (listen === undefined) return address;
  const parsed = parseListen(listen, 'options.node.listen');
  if (address.kind === 'postgres') return listeningAt(address, parsed);
  if (parsed === false) return address;
  throw invalidInput('options.node.listen', 'the store is no PostgreSQL database', 'Leave it out, or give false.');
}

function parseServers(servers: object): Map<string, ParsedTarget> {
  const parsed = new Map<string, ParsedTarget>();
  for (const [name, target] of Object.entries(servers)) {
    parsed.set(parseServerName(name, 'options.mcp'), parseMcpTarget(target, `options.mcp.${name}`));
  }
  return parsed;
}

function serversOfReader(): InputError {
  return invalidInput('options.mcp', 'a kernel that only reads connects no servers', 'Leave it out with readOnly.');
}

/** The name of the person or program that operates the kernel. */
export function operatorOf({ operator, seed }: ParsedOptions): string {
  if (operator !== undefined) return operator;
  if (seed !== undefined) return 'seeded';
  try {
    return userInfo().username;
  } catch {
    // A user id without an entry in the system's list of users has no name.
    return 'unknown';
  }
}

function stateFolder(stated: string | undefined, address: StoreAddress): string | null {
  if (stated !== undefined) return realFile(path.resolve(stated));
  return address.kind === 'sqlite' ? realFile(`${address.path}.state`) : null;
}

/** Throws INVALID_INPUT for a workspace in which tools could reach the key. */
export function assertStateOutside(state: string | null, workspace: string): void {
  if (state !== null && segmentsWithin(state, workspace) !== undefined) throw workspaceInState(state);
}

function workspaceInState(state: string): InputError {
  return invalidInput('options.state', 'the workspace lies in it', 'Name a folder of its own.', { state });
}

function realWorkspace(workspace: string): string {
  try {
    const real = realpathSync(workspace);
    if (statSync(real).isDirectory()) return real;
  } catch {
    // Refused below.
  }
  throw new InputError('INVALID_PATH', `options.workspace: there is no folder ${JSON.stringify(workspace)}.`, {
    facts: { path: workspace.slice(0, 200), problem: 'there is no such folder' },
    hint: 'Create it first, or name another.',
  });
}
