import 'reflect-metadata';
import { Container, ContainerModule, type ContainerModuleLoadOptions, type ServiceIdentifier } from 'inversify';
import { auditModule } from './audit/audit-module.js';
import { CheckpointAnnouncer } from './audit/checkpoint/checkpoints.js';
import { Signer } from './audit/checkpoint/signer.js';
import { realFile } from './base/address/store-address.js';
import { Clock, KernelClock, seededClock, systemClock } from './base/clock.js';
import { Commitments } from './base/commitments.js';
import { Entropy, SeededEntropy, SystemEntropy } from './base/entropy.js';
import { errorText, invalidInput } from './base/errors.js';
import { IdSource, TimeOrderedIds } from './base/ids.js';
import { Logger, safeLogger, silentLogger } from './base/logger.js';
import { NodeIdentity } from './base/node-identity.js';
import { StderrLogger } from './base/stderr-logger.js';
import type { Token } from './base/token.js';
import { capabilityModule } from './capability/capability-module.js';
import { commandModule } from './command/command-module.js';
import type { OutputFolder } from './command/output/output-files.js';
import { EventOutbox } from './events/event-outbox.js';
import { eventsModule } from './events/events-module.js';
import { SecretSource } from './kernel/command/command-ports.js';
import { kernelModule } from './kernel/kernel-module.js';
import { RootDefaults } from './kernel/lifecycle/root-defaults.js';
import { SpawnPolicy } from './kernel/lifecycle/spawn-gate.js';
import { type KernelFileNames, KernelFiles } from './kernel/workspace/kernel-files.js';
import { segmentsWithin, Workspace } from './kernel/workspace/working-directory.js';
import { assertStateOutside, type KernelModule, operatorOf, type ParsedOptions } from './kernel-options.js';
import { memoryModule } from './memory/memory-module.js';
import { PayloadBytesMax } from './memory/object/object-writer.js';
import { NodeSettings } from './runtime/node/node-settings.js';
import { runtimeModule } from './runtime/runtime-module.js';
import { oldPathsOf, prepareStateFolder, stateFolderOfLog, statePathsOf } from './storage/files/state-folder.js';
import { DatabaseClock } from './storage/postgres/database-clock.js';
import { findLogId } from './storage/postgres/log-id.js';
import { storageModule } from './storage/storage-module.js';
import { toolsModule } from './tools/tools-module.js';
import { unitModule } from './unit/unit-module.js';

/** The services of an open kernel. */
export interface KernelContainer {
  /** The service that a token such as `Clock` or `Store` names. Throws INVALID_INPUT for one that names none. */
  get<T>(token: Token<T> | (abstract new (...args: never[]) => T)): T;
}

/**
 * The options with the state folder of a database on a server: it has no place beside the database, and is named by the id of the
 * log. A seeded kernel keeps no files, so that repeated runs need none.
 */
export async function withStateFolder(options: ParsedOptions): Promise<ParsedOptions> {
  const { address, state, seed, readOnly, ids, workspace } = options;
  if (address.kind !== 'postgres' || state !== null || seed !== undefined) return options;
  const newId = () => (ids ?? new TimeOrderedIds(new KernelClock(systemClock()), new SystemEntropy())).next('log');
  const log = await findLogId(address, readOnly ? undefined : newId);
  if (log === undefined) return options;
  const folder = realFile(stateFolderOfLog(log));
  assertStateOutside(folder, workspace);
  return { ...options, state: folder };
}

/** Builds the container of one kernel: a module per layer, then the caller's, whose bindings replace those of the layers. */
export function buildContainer(options: ParsedOptions): Container {
  const container = new Container({ defaultScope: 'Singleton' });
  container.load(
    baseModule(options),
    storageModule({ ...options, pollMs: options.node.pollMs, followsServer: followsServer(options) }),
    eventsModule,
    auditModule,
    unitModule,
    capabilityModule,
    memoryModule,
    kernelModule,
    runtimeModule,
    toolsModule,
    commandModule(outputFolderOf(options)),
  );
  if (options.signer !== undefined) container.rebind<Signer>(Signer).toConstantValue(options.signer);
  container.load(...options.modules.map(withReplacedBindings));
  return container;
}

/** The container without the methods that change it. */
export function publicContainer(container: Container): KernelContainer {
  return {
    get: <T>(token: Token<T> | (abstract new (...args: never[]) => T)): T => {
      const service = token as ServiceIdentifier<T>;
      if (container.isBound(service)) return container.get(service);
      const name = typeof token === 'symbol' ? (token as symbol).description : errorText(token);
      const hint = 'Give a token that the package exports, or one that a module of options.modules binds.';
      throw invalidInput('token', `nothing is bound to ${String(name).slice(0, 100)}`, hint);
    },
  };
}

/** After the store was opened: creates the state folder, and from then on knows the kernel's own files whatever becomes of their names. */
export function prepareFiles(container: Container, options: ParsedOptions): void {
  const { address, state, workspace, isWorkspaceNamed, readOnly } = options;
  const files = address.kind === 'sqlite' ? [address.path] : [];
  if (!readOnly && state !== null) prepareStateFolder(state, files[0] ?? null);
  container.get(KernelFiles).remember();
  const inside = [...files, ...(state === null ? [] : [state])].filter(
    (place) => segmentsWithin(workspace, place) !== undefined,
  );
  // Nobody chose the default workspace, which is where most stores lie: a warning at every start would be ignored.
  if (readOnly || !isWorkspaceNamed || inside.length === 0) return;
  const message = 'the files of the kernel lie inside the workspace, where every command can read and change them';
  container.get<Logger>(Logger).warn({ workspace, inside }, message);
}

function baseModule(options: ParsedOptions): ContainerModule {
  const { seed, workspace, logger, ids, node, payloadBytesMax, secrets, defaults, beforeSpawn } = options;
  const log = loggerOf(logger);
  return new ContainerModule(({ bind }) => {
    bind(DatabaseClock).toConstantValue(new DatabaseClock());
    bind(Clock).toDynamicValue(({ get }) => new KernelClock(clockOf(options, log, () => get(DatabaseClock))));
    bind(Entropy).toConstantValue(seed === undefined ? new SystemEntropy() : new SeededEntropy(seed));
    bind(Logger).toConstantValue(log);
    bind(Commitments).toSelf();
    bind(Workspace).toConstantValue(workspace);
    bind(SecretSource).toConstantValue(secrets === undefined ? {} : { lookUp: secrets });
    bind(RootDefaults).toConstantValue(defaults as RootDefaults);
    bind(SpawnPolicy).toConstantValue(beforeSpawn === undefined ? {} : { beforeSpawn });
    bind(KernelFiles).toConstantValue(new KernelFiles(kernelFileNames(options)));
    bind(PayloadBytesMax).toConstantValue(payloadBytesMax);
    bind(IdSource).toDynamicValue(({ get }) => ids ?? new TimeOrderedIds(get(Clock), get(Entropy)));
    bind(NodeIdentity).toDynamicValue(({ get }) => ({
      nodeId: get<IdSource>(IdSource).next('node'),
      operator: operatorOf(options),
    }));
    bind(NodeSettings).toConstantValue({ ...node, name: node.name ?? null, startsAtSpawn: seed === undefined });
    bind(CheckpointAnnouncer).toDynamicValue(({ get }) => checkpointAnnouncer(get(EventOutbox)));
  });
}

/** Whether time is that of the database server. */
function followsServer({ address, clock, seed }: ParsedOptions): boolean {
  return address.kind === 'postgres' && clock === undefined && seed === undefined;
}

function clockOf(options: ParsedOptions, log: Logger, databaseClock: () => Clock): Clock {
  if (options.clock !== undefined) return options.clock;
  if (options.seed !== undefined) return seededClock();
  return followsServer(options) ? databaseClock() : loggedClock(log);
}

function loggerOf(option: ParsedOptions['logger']): Logger {
  if (option === 'silent') return silentLogger;
  return typeof option === 'string' ? new StderrLogger() : safeLogger(option);
}

/** The machine's clock; a large step forward is told to the logger before it is followed. */
function loggedClock(log: Logger): Clock {
  return systemClock((aheadMs) =>
    log.warn({ aheadMs: Math.round(aheadMs) }, 'the clock of this machine was set forward; it is followed in a minute'),
  );
}

/** Everything that a kernel keeps on disk, at its present places and those of earlier releases. */
function kernelFileNames({ address, state }: ParsedOptions): KernelFileNames {
  const folders = state === null ? [] : [state];
  if (address.kind !== 'sqlite') return { names: folders, folders };
  const { path: file, spelled } = address;
  const databases = [...new Set([file, spelled])];
  const files = databases.flatMap((database) => sqliteSuffixes.map((suffix) => `${database}${suffix}`));
  const old = Object.values(oldPathsOf(file));
  return { names: [...files, ...old, `${file}.state`, ...folders], folders: [...folders, `${file}.output`] };
}

const sqliteSuffixes = ['', '-wal', '-shm', '-journal'];

/** A kernel that only reads finds output where it was before it was moved. */
function outputFolderOf({ address, state, readOnly }: ParsedOptions): OutputFolder {
  if (state === null) return { path: null };
  const { output } = statePathsOf(state);
  const isOld = readOnly && address.kind === 'sqlite';
  return isOld ? { path: output, oldPath: oldPathsOf(address.path).output } : { path: output };
}

/** Appends an event for each checkpoint. */
function checkpointAnnouncer(events: EventOutbox): CheckpointAnnouncer {
  return {
    announce: (tx, { at, size, root }) => events.append(tx, { type: 'audit.checkpointed', at, data: { size, root } }),
  };
}

/** The module with a `bind` that replaces an existing binding: a second one would be ambiguous. */
function withReplacedBindings(module: KernelModule): ContainerModule {
  return new ContainerModule((options) => {
    const replacing: ContainerModuleLoadOptions = {
      ...options,
      bind: (service) => {
        if (options.isBound(service)) options.unbind(service);
        return options.bind(service);
      },
    };
    const loaded: unknown = module.load(replacing as never);
    // A module function of one expression returns its binding, which is not to be awaited.
    return loaded instanceof Promise ? loaded : undefined;
  });
}
