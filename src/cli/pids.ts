import type { Kernel, Page, Pid, ProcessRecord } from '../index.js';
import { CliError } from './cli-error.js';
import { safeText } from './safe-text.js';

const shortLength = 8;
export const suffixLengthMin = 4;
const pageRows = 10_000;

/**
 * A function from ids to short names: the shortest suffix that tells the given ids apart. Ids begin with the time and end in
 * random digits, so short suffixes differ.
 */
export function shortNames(ids: readonly string[]): (id: string) => string {
  const distinct = [...new Set(ids)];
  let length = shortLength;
  while (new Set(distinct.map((id) => suffixOf(id, length))).size < distinct.length) length += 4;
  return (id) => safeText(suffixOf(id, length));
}

export const fullName = (id: string): string => safeText(id, 512);

/** The last `length` characters before the first dot, and everything from the dot on. */
function suffixOf(id: string, length: number): string {
  const dot = id.indexOf('.');
  const from = (dot < 0 ? id.length : dot) - length;
  return from <= 'p_'.length ? id : id.slice(from);
}

/** The process with this pid, or with this unique suffix of a pid. Throws NO_SUCH_PROCESS, AMBIGUOUS_PID. */
export async function findPid(kernel: Kernel, input: string): Promise<Pid> {
  const pidOrSuffix = input.replace(/^…/, '');
  if (await exists(kernel, pidOrSuffix)) return pidOrSuffix;
  const matches = pidOrSuffix.length < suffixLengthMin ? [] : await findBySuffix(kernel, pidOrSuffix);
  const [pid, another] = matches;
  if (pid === undefined) throw noSuchProcess(pidOrSuffix);
  if (another !== undefined) throw ambiguous(pidOrSuffix, matches);
  return pid;
}

/** As `findPid`, but returns an unknown name unchanged: the log also contains `host` and pruned processes. */
export async function findActor(kernel: Kernel, pidOrSuffix: string): Promise<string> {
  try {
    return pidOrSuffix === 'host' || pidOrSuffix === 'kernel' ? pidOrSuffix : await findPid(kernel, pidOrSuffix);
  } catch (error) {
    if (error instanceof CliError && error.code === 'NO_SUCH_PROCESS') return pidOrSuffix;
    throw error;
  }
}

/** The process that a rule binds, or `*` for all. The hint mentions quotes, because a shell expands a bare `*` to files. */
export async function findRuleTarget(kernel: Kernel, pidOrSuffix: string): Promise<Pid | '*'> {
  if (pidOrSuffix === '*') return pidOrSuffix;
  try {
    return await findPid(kernel, pidOrSuffix);
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== 'NO_SUCH_PROCESS') throw error;
    throw new CliError(error.code, error.message, `${error.hint} For every process write '*', with the quotes.`);
  }
}

async function exists(kernel: Kernel, pid: string): Promise<boolean> {
  try {
    await kernel.processes.get(pid);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'NO_SUCH_PROCESS') return false;
    throw error;
  }
}

async function findBySuffix(kernel: Kernel, suffix: string): Promise<Pid[]> {
  const found: Pid[] = [];
  let after: string | undefined;
  do {
    const page: Page<ProcessRecord> = await kernel.processes.list({
      limit: pageRows,
      ...(after === undefined ? {} : { after }),
    });
    for (const { pid } of page.items) if (pid.endsWith(suffix)) found.push(pid);
    after = page.next;
  } while (after !== undefined && found.length < 10);
  return found;
}

function noSuchProcess(given: string): CliError {
  return new CliError(
    'NO_SUCH_PROCESS',
    `There is no process ${JSON.stringify(given.slice(0, 100))}.`,
    'See which there are: procura ps. A pid can be shortened to its last characters, four or more.',
  );
}

function ambiguous(given: string, found: readonly Pid[]): CliError {
  return new CliError(
    'AMBIGUOUS_PID',
    `${JSON.stringify(given)} names more than one process: ${found.slice(0, 5).join(', ')}.`,
    'Give more characters, or the whole pid: procura ps --full.',
  );
}
