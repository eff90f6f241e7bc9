import { AbortOnSignal } from '../../abort-on-signal.js';
import { CliError } from '../../cli-error.js';
import { type CommonOptions, explainMissing, newStoreAddress, stateOf, storeAddress } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';

interface MigrateCommandOptions extends CommonOptions {
  readonly from?: string;
  readonly to?: string;
  readonly fromState?: string;
  readonly toState?: string;
  readonly withKey?: boolean;
}

/** Moves a store. Addresses are not printed: they may hold passwords. */
export async function migrate(options: MigrateCommandOptions): Promise<void> {
  const to = options.to ?? (process.env.PROCURA_TO || undefined);
  if (to === undefined) throw withoutTarget();
  const from = storeAddress(options.from === undefined ? options : { store: options.from });
  const { fromState = stateOf(options), toState, withKey = false } = options;
  const { migrateStore } = await import('../../../index.js');
  using interrupted = new AbortOnSignal();
  const report = await migrateStore({
    from,
    to: newStoreAddress(to),
    ...(fromState === undefined ? {} : { fromState }),
    ...(toState === undefined ? {} : { toState }),
    withKey,
    signal: interrupted.signal,
  }).catch(explainMissing);
  if (options.json === true) return writeJson(report);
  const { rows, records, root, state } = report;
  await writeLine(`Moved ${rows} rows, ${records} of them audit records. The log verifies, with the same root.`);
  await writeLine(`root  ${root}`);
  if (state !== null) await writeLine(`state ${state}`);
  await writeLine('The store that was moved is as it was. Open only the new one from now on.');
}

function withoutTarget(): CliError {
  return new CliError('USAGE', '--to is missing.', 'Name the new store with --to STORE or PROCURA_TO.');
}
