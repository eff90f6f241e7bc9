/* LangGraph JS with its SQLite checkpointer: a graph is the workflow, a node its durable step, a subgraph the child. */
import { join } from 'node:path';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import Database from 'better-sqlite3';
import { runCount, serve } from '../sides/serve.mjs';
import { perOperation, StatementCount } from '../sides/statement-count.mjs';

const countedLives = 100;
const State = Annotation.Root({ n: Annotation(), value: Annotation() });
const square = ({ n }) => ({ value: n * n });
let threads = 0;

await serve(async ({ folder, durability }) => {
  const db = open(join(folder, 'langgraph.db'), durability);
  const counts = await countStatements(join(folder, 'counted.db'), durability);
  return { workloads: workloadsOn(db), facts: { counts }, close: () => db.close() };
});

function open(path, durability, options = {}) {
  const db = new Database(path, options);
  db.pragma('journal_mode = WAL');
  db.pragma(`synchronous = ${durability}`);
  return db;
}

function workloadsOn(db) {
  const checkpointer = new SqliteSaver(db);
  const child = graphOf(square).compile();
  const parent = graphOf(async ({ n }, config) => {
    const { value } = await child.invoke({ n }, config);
    return { value: value + 1 };
  }).compile({ checkpointer });
  const step = graphOf(square).compile({ checkpointer });
  return { 'parent-child': (n) => invoke(parent, n), step: (n) => invoke(step, n) };
}

function graphOf(node) {
  return new StateGraph(State).addNode('work', node).addEdge(START, 'work').addEdge('work', END);
}

/** Each operation is a thread of its own. `sync`: a checkpoint is written before the next node starts. */
async function invoke(graph, n) {
  const config = { configurable: { thread_id: `thread-${threads++}` }, durability: 'sync' };
  return (await graph.invoke({ n }, config)).value;
}

/** Statements of one operation. Throws when the child leaves no checkpoint: it would not be durable then. */
async function countStatements(path, durability) {
  let count;
  const db = open(path, durability, { verbose: (sql) => count?.add(sql) });
  const operation = workloadsOn(db)['parent-child'];
  await runCount(operation, 'parent-child', 1);
  count = new StatementCount();
  await runCount(operation, 'parent-child', countedLives);
  const counts = perOperation([count], countedLives);
  count = undefined;
  const { children } = db.prepare("SELECT count(*) AS children FROM checkpoints WHERE checkpoint_ns <> ''").get();
  db.close();
  if (children < countedLives) throw new Error('The subgraphs have left no checkpoints.');
  return counts;
}
