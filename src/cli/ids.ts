import type { Approval, Capability, Kernel, Rule } from '../index.js';
import { CliError } from './cli-error.js';
import { endingMin } from './pids.js';

/** The approval that `given` names: a whole id, or an ending that only one has. Throws NO_SUCH_APPROVAL, INVALID_INPUT. */
export async function findApproval({ approvals }: Kernel, given: string): Promise<Approval> {
  const whole = await unless('NO_SUCH_APPROVAL', () => approvals.get(given));
  if (whole !== undefined) return whole;
  const hint = 'See which there are: procura approvals --status any.';
  return theOne('approval', given, await approvals.list({ status: 'any' }), ['NO_SUCH_APPROVAL', hint]);
}

/** The rule that `given` names: a whole id, or an ending that only one has. Throws NO_SUCH_RULE, INVALID_INPUT. */
export async function findRule({ capabilities }: Kernel, given: string): Promise<Rule> {
  const hint = 'See which there are: procura rules. One that was lifted is gone.';
  return theOne('rule', given, await capabilities.rules(), ['NO_SUCH_RULE', hint]);
}

/** The capability of that whole id: they are too many to look through. Throws NO_SUCH_CAPABILITY. */
export async function findCapability({ capabilities }: Kernel, given: string): Promise<Capability> {
  const found = await unless('NO_SUCH_CAPABILITY', () => capabilities.get(given));
  if (found !== undefined) return found;
  const hint = 'Give the whole id: procura show PID tells those that a process holds.';
  throw missing('capability', given, ['NO_SUCH_CAPABILITY', hint]);
}

/** What `look` finds; undefined where it throws `code`. */
async function unless<T>(code: string, look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === code) return undefined;
    throw error;
  }
}

type Missing = readonly [code: 'NO_SUCH_APPROVAL' | 'NO_SUCH_RULE' | 'NO_SUCH_CAPABILITY', hint: string];

function theOne<T extends { readonly id: string }>(what: string, given: string, all: readonly T[], or: Missing): T {
  const whole = all.find(({ id }) => id === given);
  if (whole !== undefined) return whole;
  const found = given.length < endingMin ? [] : all.filter(({ id }) => id.endsWith(given));
  const [first, another] = found;
  if (first === undefined) throw missing(what, given, or);
  if (another !== undefined) throw ambiguous(what, given, found);
  return first;
}

function missing(what: string, given: string, [code, hint]: Missing): CliError {
  return new CliError(code, `There is no ${what} ${JSON.stringify(given.slice(0, 100))}.`, hint);
}

function ambiguous(what: string, given: string, found: readonly { readonly id: string }[]): CliError {
  const some = found.slice(0, 5).map(({ id }) => id);
  return new CliError(
    'INVALID_INPUT',
    `${JSON.stringify(given)} names more than one ${what}: ${some.join(', ')}.`,
    `Give more characters, or the whole id: procura ${what}s --full.`,
  );
}
