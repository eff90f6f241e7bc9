import { userInfo } from 'node:os';
import type { Approval, ApprovalDecision, ApprovalScope, JsonValue, Kernel } from '../../../index.js';
import { approvalText } from '../../authority-text.js';
import { CliError } from '../../cli-error.js';
import { findApproval, findQuestion } from '../../ids.js';
import { type CommonOptions, withReadOnlyStore, withWritableStore } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';
import { fullName } from '../../pids.js';
import { safeJson, safeText } from '../../safe-text.js';
import { formatTime } from '../../times.js';

interface AnswerOptions extends CommonOptions {
  readonly by?: string;
  readonly scope?: ApprovalScope;
  /** The arguments to make the call with, as JSON. */
  readonly args?: string;
}

/** Answers an approval or a question, which cannot be undone. The kernel in which the call waits continues when it reads the event. */
export async function answer(idOrSuffix: string, value: string, options: AnswerOptions): Promise<void> {
  const question = await withReadOnlyStore(options, (kernel) => findQuestion(kernel, idOrSuffix));
  if (question === undefined) await answerApproval(idOrSuffix, value, options);
  else await answerQuestion(question.id, value, options);
}

async function answerQuestion(id: string, value: string, options: AnswerOptions): Promise<void> {
  if (options.args !== undefined)
    throw new CliError('INVALID_INPUT', `${id} is a question: it has no arguments.`, 'Give the answer as the value.');
  await withWritableStore(
    options,
    async ({ questions }) => questions.get(id),
    async ({ questions }) => {
      const { by = userName() } = options;
      await questions.answer(id, { answer: parseValue(value), by });
      if (options.json === true) return writeJson(await questions.get(id));
      await writeLine(`${fullName(id)} answered by ${safeText(by)}`);
    },
  );
}

/** JSON where it parses, otherwise the text itself. */
function parseValue(value: string): JsonValue {
  try {
    return JSON.parse(value) as JsonValue;
  } catch {
    return value;
  }
}

async function answerApproval(idOrSuffix: string, decision: string, options: AnswerOptions): Promise<void> {
  const args = options.args === undefined ? {} : { args: parseArgs(options.args) };
  await withWritableStore(
    options,
    (kernel) => findPending(kernel, idOrSuffix),
    async ({ approvals }, { id }) => {
      const { by = userName(), scope } = options;
      // The kernel validates the decision and the scope.
      const answerInput = {
        decision: decision as ApprovalDecision,
        by,
        ...(scope === undefined ? {} : { scope }),
        ...args,
      };
      await approvals.answer(id, answerInput);
      const answered = await approvals.get(id);
      if (options.json === true) return writeJson(answered);
      await writeLine(`${fullName(id)} answered by ${safeText(by)}: ${decision}`);
      await writeLine(consequenceText(answered));
    },
  );
}

function parseArgs(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    throw new CliError('INVALID_INPUT', '--args is no JSON.', `Quote it for the shell: --args '{"to":"ann"}'.`);
  }
}

/** The pending approval. Throws CONFLICT with the answer where there is one; the kernel checks again when it writes. */
async function findPending(kernel: Kernel, idOrSuffix: string): Promise<Approval> {
  const approval = await findApproval(kernel, idOrSuffix);
  const { id, status, decision, by, answeredAt } = approval;
  if (status === 'pending') return approval;
  const what =
    decision === undefined
      ? 'is void: the process, its program, the capability or the time it rests on is over'
      : `was answered by ${by} at ${formatTime(answeredAt ?? 0)}: ${decision}`;
  throw new CliError('CONFLICT', `Approval ${id} ${what}.`, 'See what waits for an answer: procura approvals.');
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // The user id has no entry in the system's list of users.
    throw new CliError('INVALID_INPUT', 'The user who runs this has no name.', 'Say who answers: --by NAME.');
  }
}

function consequenceText(answered: Approval): string {
  const { pid, capability, request, decision, scope } = answered;
  const who = fullName(pid);
  const what = approvalText(answered);
  const these = scope === 'args' ? ' with these arguments' : '';
  if (decision === 'deny') return `${who} may not ${what} this time; it can ask again.`;
  if (decision === 'deny-always') {
    return `A rule forbids ${who} and everything spawned under it to ${what}${these}: procura rules ${who}`;
  }
  if (request !== undefined) return `${who} may ${what} from now on: procura show ${who}`;
  if (decision === 'once' && answered.edited !== undefined)
    return `${who} may ${what} once, with the arguments given here: ${safeText(safeJson(answered.edited.args), 500)}`;
  if (decision === 'once') return `${who} may ${what} once.`;
  const whom = scope === 'tree' ? `${who} and everything spawned under it` : who;
  const within = capability === null || capability === 'kin' ? '' : ' that its capability allows';
  return `${whom} may ${what}${these || ` with any arguments${within}`} from now on.`;
}
