import { and, desc, eq, gt, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { ReadTx, WriteTx } from '../../../base/store.js';
import type { AgentTurnRepository, AgentTurnRow } from '../../../kernel/agent/agent-turn-repository.js';
import { agentTurns } from '../../schema/agents.js';
import { allColumns, compileWrite } from '../../statements/compiled-writes.js';
import { prepareStatements } from '../../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../../statements/statement-connection.js';

const ofProcess = eq(agentTurns.process, sql.placeholder('process'));

const statements = prepareStatements((db: Db, raw: StatementConnection) => ({
  last: db
    .select({ seq: agentTurns.seq, turn: agentTurns.turn })
    .from(agentTurns)
    .where(ofProcess)
    .orderBy(desc(agentTurns.seq))
    .limit(1)
    .prepare(),
  page: db
    .select()
    .from(agentTurns)
    .where(and(ofProcess, gt(agentTurns.seq, sql.placeholder('seq'))))
    .orderBy(agentTurns.seq)
    .limit(sql.placeholder('limit'))
    .prepare(),
  insert: compileWrite(raw, db.insert(agentTurns).values(allColumns(agentTurns))),
}));

@injectable()
export class SqlAgentTurnRepository implements AgentTurnRepository {
  async last(tx: ReadTx, process: number): Promise<Pick<AgentTurnRow, 'seq' | 'turn'> | undefined> {
    return statements.read(tx).last.get({ process });
  }

  async page(tx: ReadTx, process: number, seq: number, limit: number): Promise<AgentTurnRow[]> {
    return statements.read(tx).page.all({ process, seq, limit });
  }

  async insert(tx: WriteTx, row: AgentTurnRow): Promise<void> {
    statements.write(tx).insert.run(row);
  }
}
