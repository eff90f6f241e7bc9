import type { Kernel, Pid, Rule } from '../../../index.js';
import { type CommonOptions, reading } from '../../open-store.js';
import { paint, writeJson, writeLine } from '../../output.js';
import { findBound, fullName, shortNames } from '../../pids.js';
import { safeText } from '../../safe-text.js';
import { drawTable } from '../../table.js';
import { showLeft } from '../../times.js';

interface RulesOptions extends CommonOptions {
  readonly full?: boolean;
}

type Name = (id: string) => string;

const headings = ['ID', 'EFFECT', 'BINDS', 'RIGHTS', 'RESOURCE', 'ARGUMENTS', 'EXPIRES', 'REASON'];

/** Lists every rule, or those that bind one process, oldest first. */
export async function rules(given: string | undefined, options: RulesOptions): Promise<void> {
  const items = await reading(options, async (kernel) => {
    if (given === undefined) return kernel.capabilities.rules();
    return binding(kernel, await findBound(kernel, given));
  });
  if (options.json === true) return writeJson(items);
  const isFull = options.full === true;
  const idName = isFull ? fullName : shortNames(items.map(({ id }) => id));
  const pidName = isFull ? fullName : shortNames(items.map(({ pid }) => pid));
  const rows = items.map((item) => row(item, idName, pidName));
  await writeLine(drawTable(headings, rows));
}

/** Those for all, those on the process, and those on each that it was born under, whoever is its parent now. */
async function binding({ capabilities, processes }: Kernel, bound: Pid | '*'): Promise<Rule[]> {
  const path = new Set<string>(['*']);
  for (let at: Pid | null = bound === '*' ? null : bound; at !== null; ) {
    path.add(at);
    at = (await processes.get(at)).bornUnder;
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
    showLeft(expiresAt),
    safeText(reason ?? '', 60),
  ];
}
