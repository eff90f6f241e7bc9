import { and, eq, isNull, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { ReadTx, WriteTx } from '../../../base/store.js';
import type { AgentMessageRepository, AgentMessageRow } from '../../../kernel/agent/agent-message-repository.js';
import { agentMessages } from '../../schema/agents.js';
import { allColumns, compileWrite, updateColumns } from '../../statements/compiled-writes.js';
import { prepareStatements } from '../../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../../statements/statement-connection.js';

const ofProcess = eq(agentMessages.process, sql.placeholder('process'));
const byId = and(ofProcess, eq(agentMessages.id, sql.placeholder('id')));

const statements = prepareStatements((db: Db, raw: StatementConnection) => ({
  find: db.select().from(agentMessages).where(byId).prepare(),
  open: db
    .select()
    .from(agentMessages)
    .where(and(ofProcess, isNull(agentMessages.answeredAt)))
    .prepare(),
  insert: compileWrite(raw, db.insert(agentMessages).values(allColumns(agentMessages))),
  answer: compileWrite(
    raw,
    db
      .update(agentMessages)
      .set(updateColumns(agentMessages, ['reply', 'answeredAt']))
      .where(byId),
  ),
}));

@injectable()
export class SqlAgentMessageRepository implements AgentMessageRepository {
  async find(tx: ReadTx, process: number, id: string): Promise<AgentMessageRow | undefined> {
    return statements.read(tx).find.get({ process, id });
  }

  async open(tx: ReadTx, process: number): Promise<AgentMessageRow[]> {
    return statements.read(tx).open.all({ process });
  }

  async insert(tx: WriteTx, row: AgentMessageRow): Promise<void> {
    statements.write(tx).insert.run(row);
  }

  async answer(
    tx: WriteTx,
    { process, id, reply, answeredAt }: Pick<AgentMessageRow, 'process' | 'id' | 'reply' | 'answeredAt'>,
  ): Promise<void> {
    statements.write(tx).answer.run({ process, id, reply, answeredAt });
  }
}
