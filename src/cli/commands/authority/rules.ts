import type { Kernel, Pid, Rule } from '../../../index.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { paint, writeJson, writeLine } from '../../output.js';
import { findRuleTarget, fullName, shortNames } from '../../pids.js';
import { safeText } from '../../safe-text.js';
import { drawTable } from '../../table.js';
import { formatTimeLeft } from '../../times.js';

interface RulesOptions extends CommonOptions {
  readonly full?: boolean;
}

type Name = (id: string) => string;

const headings = ['ID', 'EFFECT', 'BINDS', 'RIGHTS', 'RESOURCE', 'ARGUMENTS', 'EXPIRES', 'REASON'];

/** Lists every rule, or those that bind one process, oldest first. */
export async function rules(pidOrSuffix: string | undefined, options: RulesOptions): Promise<void> {
  const items = await withReadOnlyStore(options, async (kernel) => {
    if (pidOrSuffix === undefined) return kernel.capabilities.rules();
    return findBinding(kernel, await findRuleTarget(kernel, pidOrSuffix));
  });
  if (options.json === true) return writeJson(items);
  const isFull = options.full === true;
  const idName = isFull ? fullName : shortNames(items.map(({ id }) => id));
  const pidName = isFull ? fullName : shortNames(items.map(({ pid }) => pid));
  const rows = items.map((item) => row(item, idName, pidName));
  await writeLine(drawTable(headings, rows));
}

/** The rules on all processes, on this one, and on the processes it was spawned under, whatever its parent is now. */
async function findBinding({ capabilities, processes }: Kernel, target: Pid | '*'): Promise<Rule[]> {
  const path = new Set<string>(['*']);
  for (let current: Pid | null = target === '*' ? null : target; current !== null; ) {
    path.add(current);
    current = (await processes.get(current)).bornUnder;
  }
  return (await capabilities.rules()).filter(({ pid }) => path.has(pid));
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
