import type { Commitments } from '../../base/commitments.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { Budget } from '../budget/budget.js';
import type { ProcessRow } from '../process/process.js';

/** What the records of spawn, fork and exec tell of a program besides its image; members that have the default are left out. */
interface Program {
  readonly budget: Partial<Budget>;
  /** Those that are not the default. */
  readonly flags: JsonObject;
}

/**
 * For the body of a record: numbers, kinds and hashes. Arguments and environment are shown in no record, so their hashes are
 * keyed: plain ones would tell them to who can guess.
 */
export function programFacts(
  { args, env }: ProcessRow,
  { budget, flags }: Program,
  commitments: Commitments,
): JsonObject {
  return {
    ...(isEmpty(args) ? {} : { argsHash: commitments.of(args) }),
    ...(env === null ? {} : { envHash: commitments.of(env) }),
    ...(isEmpty(budget as JsonObject) ? {} : { budget: budget as JsonObject }),
    ...(isEmpty(flags) ? {} : { flags }),
  };
}

/** For the payload of a record, which can be erased: texts of users. */
export function programPayload({ cwd, labels, owner }: ProcessRow): JsonObject {
  return {
    ...(cwd === '.' ? {} : { cwd }),
    ...(labels === null ? {} : { labels: { ...labels } }),
    ...(owner === null ? {} : { owner: { ...owner } as JsonObject }),
  };
}

/** The members of `flags` that are not the default. */
export function changedFlags(flags: JsonObject, defaults: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(flags).filter(([name, value]) => value !== defaults[name]));
}

function isEmpty(value: JsonValue): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}
