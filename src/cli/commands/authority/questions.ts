import type { QuestionFilter, UserQuestion } from '../../../index.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';
import { findPid, fullName, shortNames } from '../../pids.js';
import { safeJson, safeText } from '../../safe-text.js';
import { drawTable } from '../../table.js';
import { formatAge } from '../../times.js';

interface QuestionsOptions extends CommonOptions {
  readonly full?: boolean;
  readonly status: NonNullable<QuestionFilter['status']>;
  readonly pid?: string;
}

const headings = ['ID', 'STATUS', 'PROCESS', 'QUESTION', 'CHOICES', 'ANSWER', 'AGE'];

/** Lists questions by status, oldest first. */
export async function questions(options: QuestionsOptions): Promise<void> {
  const items = await withReadOnlyStore(options, async (kernel) => {
    const { status, pid } = options;
    return kernel.questions.list({ status, ...(pid === undefined ? {} : { pid: await findPid(kernel, pid) }) });
  });
  if (options.json === true) return writeJson(items);
  const isFull = options.full === true;
  const idName = isFull ? fullName : shortNames(items.map(({ id }) => id));
  const pidName = isFull ? fullName : shortNames(items.map(({ pid }) => pid));
  const row = ({ id, status, pid, question, choices, answer, by, createdAt }: UserQuestion) => [
    idName(id),
    status,
    pidName(pid),
    safeText(question, 80),
    choices === undefined ? '-' : safeText(safeJson(choices), 50),
    answer === undefined ? '-' : `${safeText(safeJson(answer), 50)} by ${safeText(by ?? '', 30)}`,
    formatAge(createdAt),
  ];
  await writeLine(drawTable(headings, items.map(row)));
}
