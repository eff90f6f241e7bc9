import type { Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import type { ProcessRow } from '../../kernel/process/process.js';
import type { MaybePromise } from '../statements/maybe-promise.js';
import { WriteUnit } from '../units/write-unit.js';
import type { StoredValues } from '../working-set/row-codec.js';
import { accountRows, capabilityRows, messageRows, processRows, reservationRows } from '../working-set/tables.js';
import type { PostgresConnection } from './postgres-connection.js';

/** More processes than this are left to their units. */
const processesMax = 128;

/** Reads of what the units of a group will look at, so that the units themselves cost no round trips. */
export class Prefetch {
  private readonly asked: Pid[];

  /** `about`: the processes that the units are about. `mayBeOutdated`: whether others may have changed what is known of them. */
  constructor(
    private readonly connection: PostgresConnection,
    about: Iterable<Pid>,
    mayBeOutdated: boolean,
  ) {
    const pids = [...new Set(about)];
    const { workingSet } = connection;
    const unknown = mayBeOutdated ? pids : pids.filter((pid) => !processRows.isKnown(workingSet, pid));
    this.asked = pids.length > processesMax ? [] : unknown;
  }

  /** Asks for the processes, in the batch that is being put together. */
  ask(): Promise<(StoredValues | undefined)[]> {
    return Promise.all(this.asked.map((pid) => processRows.preload(this.connection, pid)));
  }

  /** Makes the processes known, and reads what hangs on them in one more batch, where it is not known. */
  async learn(found: readonly (StoredValues | undefined)[]): Promise<void> {
    const { connection, asked } = this;
    const { workingSet } = connection;
    for (const [index, pid] of asked.entries()) processRows.learn(workingSet, found[index], pid);
    const tx: ReadTx = new WriteUnit(connection, 'read');
    const rows = asked.flatMap((pid) => processRows.get(tx, pid) as MaybePromise<ProcessRow | undefined>);
    const live = (await Promise.all(rows)).filter((row) => row !== undefined);
    const accounts = [...new Set(live.flatMap(({ n, path }) => [n, ...path]))];
    await connection.together(() => [
      ...accounts.flatMap((n) => [accountRows.get(tx, n), processRows.getBy(tx, n)]),
      ...live.flatMap(({ pid }) => [
        processRows.list(tx, 'liveChildren', pid),
        capabilityRows.list(tx, 'ofHolder', pid),
        reservationRows.list(tx, 'ofProcess', pid),
        messageRows.list(tx, 'ofReceiver', pid),
      ]),
    ]);
  }
}
