import type { Approval, Capability, Kernel, Rule, UserQuestion } from '../index.js';
import { CliError } from './cli-error.js';
import { suffixLengthMin } from './pids.js';

/** The approval with this id, or with this unique suffix of an id. Throws NO_SUCH_APPROVAL, INVALID_INPUT. */
export async function findApproval({ approvals }: Kernel, idOrSuffix: string): Promise<Approval> {
  const exact = await undefinedOn('NO_SUCH_APPROVAL', () => approvals.get(idOrSuffix));
  if (exact !== undefined) return exact;
  const hint = 'See which there are: procura approvals --status any.';
  return findByIdOrSuffix('approval', idOrSuffix, await approvals.list({ status: 'any' }), ['NO_SUCH_APPROVAL', hint]);
}

/** The question with this id, or with this unique suffix of an id; undefined where there is none. */
export async function findQuestion({ questions }: Kernel, idOrSuffix: string): Promise<UserQuestion | undefined> {
  const exact = await undefinedOn('NO_SUCH_QUESTION', () => questions.get(idOrSuffix));
  if (exact !== undefined || idOrSuffix.length < suffixLengthMin) return exact;
  const matches = (await questions.list({ status: 'any' })).filter(({ id }) => id.endsWith(idOrSuffix));
  if (matches.length > 1) throw ambiguous('question', idOrSuffix, matches);
  return matches[0];
}

/** The rule with this id, or with this unique suffix of an id. Throws NO_SUCH_RULE, INVALID_INPUT. */
export async function findRule({ capabilities }: Kernel, idOrSuffix: string): Promise<Rule> {
  const hint = 'See which there are: procura rules --all. One that was lifted is gone.';
  return findByIdOrSuffix('rule', idOrSuffix, await capabilities.rules(undefined, { all: true }), [
    'NO_SUCH_RULE',
    hint,
  ]);
}

/** The capability with this id. Suffixes are not searched, because there are too many. Throws NO_SUCH_CAPABILITY. */
export async function findCapability({ capabilities }: Kernel, id: string): Promise<Capability> {
  const found = await undefinedOn('NO_SUCH_CAPABILITY', () => capabilities.get(id));
  if (found !== undefined) return found;
  const hint = 'Give the whole id: procura show PID tells those that a process holds.';
  throw notFound('capability', id, ['NO_SUCH_CAPABILITY', hint]);
}

/** The result of `find`, or undefined where it throws `code`. */
async function undefinedOn<T>(code: string, find: () => Promise<T>): Promise<T | undefined> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === code) return undefined;
    throw error;
  }
}

type NotFound = readonly [code: 'NO_SUCH_APPROVAL' | 'NO_SUCH_RULE' | 'NO_SUCH_CAPABILITY', hint: string];

function findByIdOrSuffix<T extends { readonly id: string }>(
  what: string,
  idOrSuffix: string,
  all: readonly T[],
  notFoundError: NotFound,
): T {
  const exact = all.find(({ id }) => id === idOrSuffix);
  if (exact !== undefined) return exact;
  const matches = idOrSuffix.length < suffixLengthMin ? [] : all.filter(({ id }) => id.endsWith(idOrSuffix));
  const [first, another] = matches;
  if (first === undefined) throw notFound(what, idOrSuffix, notFoundError);
  if (another !== undefined) throw ambiguous(what, idOrSuffix, matches);
  return first;
}

function notFound(what: string, given: string, [code, hint]: NotFound): CliError {
  return new CliError(code, `There is no ${what} ${JSON.stringify(given.slice(0, 100))}.`, hint);
}

function ambiguous(what: string, given: string, found: readonly { readonly id: string }[]): CliError {
  const examples = found.slice(0, 5).map(({ id }) => id);
  return new CliError(
    'INVALID_INPUT',
    `${JSON.stringify(given)} names more than one ${what}: ${examples.join(', ')}.`,
    `Give more characters, or the whole id: procura ${what}s --full.`,
  );
}
