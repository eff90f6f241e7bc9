import type { Logger } from '../../base/logger.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import type { PostgresReadQueue } from './postgres-read-queue.js';

/** Dead versions of the one row of `head`: each group reads past them. */
const deadRowsMax = 10_000;
const lookMs = 300_000;

const statements = prepareStatements((_db: Db, raw: StatementConnection) => ({
  deadRows: raw
    .prepare<[], number>("SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = to_regclass('head')")
    .pluck(),
}));

/** Warns when old versions of rows are not removed, as while another program keeps a transaction open. */
export class VacuumWatch {
  private timer: NodeJS.Timeout | undefined;
  private hasWarned = false;

  constructor(
    private readonly reads: PostgresReadQueue,
    private readonly logger: Logger,
  ) {}

  async start(): Promise<void> {
    this.timer = setInterval(() => void this.look(), lookMs).unref();
    await this.look();
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    // Statistics that cannot be read are no reason to refuse anything.
    const deadRows = await this.reads.run(async (tx) => statements.read(tx).deadRows.get()).catch(() => undefined);
    const isMany = deadRows !== undefined && deadRows > deadRowsMax;
    if (isMany && !this.hasWarned) {
      this.logger.warn(
        { table: 'head', deadRows },
        'autovacuum does not keep up, or a transaction is open that keeps it from removing old rows: commits get slower',
      );
    }
    this.hasWarned = isMany;
  }
}
