import type { Kernel, Pid, Rule } from '../../../index.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { paint, writeJson, writeLine } from '../../output.js';
import { findRuleTarget, fullName, shortNames } from '../../pids.js';
import { safeText } from '../../safe-text.js';
import { drawTable } from '../../table.js';
import { formatTimeLeft } from '../../times.js';

interface RulesOptions extends CommonOptions {
  readonly full?: boolean;
  /** Also those that bind nobody any more. */
  readonly all?: boolean;
}

type Name = (id: string) => string;

const headings = ['ID', 'EFFECT', 'BINDS', 'RIGHTS', 'RESOURCE', 'ARGUMENTS', 'EXPIRES', 'REASON'];

/** Lists every rule, or those that bind one process, oldest first. */
export async function rules(pidOrSuffix: string | undefined, options: RulesOptions): Promise<void> {
  const items = await withReadOnlyStore(options, async (kernel) => {
    const found = await kernel.capabilities.rules(undefined, { all: options.all === true });
    if (pidOrSuffix === undefined) return found;
    const path = await findPath(kernel, await findRuleTarget(kernel, pidOrSuffix));
    return found.filter(({ pid }) => path.has(pid));
  });
  if (options.json === true) return writeJson(items);
  const isFull = options.full === true;
  const idName = isFull ? fullName : shortNames(items.map(({ id }) => id));
  const pidName = isFull ? fullName : shortNames(items.map(({ pid }) => pid));
  const rows = items.map((item) => row(item, idName, pidName));
  await writeLine(drawTable(headings, rows));
}

/** What rules that bind this process are set on: all, itself, and the processes it was spawned under, whatever its parent is now. */
async function findPath({ processes }: Kernel, target: Pid | '*'): Promise<ReadonlySet<string>> {
  const path = new Set<string>(['*']);
  for (let current: Pid | null = target === '*' ? null : target; current !== null; ) {
    path.add(current);
    current = (await processes.get(current)).bornUnder;
  }
  return path;
}

function row(rule: Rule, idName: Name, pidName: Name): string[] {
  const { id, effect, pid, rights, resource, argsHash, expiresAt, reason } = rule;
  return [
    idName(id),
    effect === 'deny' ? paint.red(effect) : paint.yellow(effect),
    pid === '*' ? pid : pidName(pid),
    rights.join(','),
    safeText(resource, 80),
    argsHash === undefined ? 'any' : `SHA-256 ${argsHash.slice(0, 8)}…`,
    formatTimeLeft(expiresAt),
    safeText(reason ?? '', 60),
  ];
}
