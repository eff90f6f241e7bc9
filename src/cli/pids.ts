import type { Kernel, Page, Pid, ProcessRecord } from '../index.js';
import { CliError } from './cli-error.js';
import { safeText } from './safe-text.js';

const shortLength = 8;
export const endingMin = 4;
const pageRows = 10_000;

/**
 * A short name for each id: its ending, as long as it must be to differ from those of the other ids shown. New ids
 * begin with the time and end in random digits, so endings differ soon.
 */
export function shortNames(ids: readonly string[]): (id: string) => string {
  const distinct = [...new Set(ids)];
  let length = shortLength;
  while (new Set(distinct.map((id) => ending(id, length))).size < distinct.length) length += 4;
  return (id) => safeText(ending(id, length));
}

export const fullName = (id: string): string => safeText(id, 512);

/** The last characters of the part before the first dot, and everything from the dot on. */
function ending(id: string, length: number): string {
  const dot = id.indexOf('.');
  const from = (dot < 0 ? id.length : dot) - length;
  return from <= 'p_'.length ? id : id.slice(from);
}

/** The process that `given` names: a whole pid, or an ending that only one has. Throws NO_SUCH_PROCESS, AMBIGUOUS_PID. */
export async function findPid(kernel: Kernel, given: string): Promise<Pid> {
  const wanted = given.replace(/^…/, '');
  if (await exists(kernel, wanted)) return wanted;
  const found = wanted.length < endingMin ? [] : await pidsEndingIn(kernel, wanted);
  const [pid, another] = found;
  if (pid === undefined) throw noSuchProcess(wanted);
  if (another !== undefined) throw ambiguous(wanted, found);
  return pid;
}

/** As `findPid`, but what names no process stays as it is: the log also tells of `host` and of pruned processes. */
export async function findActor(kernel: Kernel, given: string): Promise<string> {
  try {
    return given === 'host' || given === 'kernel' ? given : await findPid(kernel, given);
  } catch (error) {
    if (error instanceof CliError && error.code === 'NO_SUCH_PROCESS') return given;
    throw error;
  }
}

/** Whom a rule is to bind: a process, or with `*` all of them. A shell that was not told otherwise makes files of `*`. */
export async function findBound(kernel: Kernel, given: string): Promise<Pid | '*'> {
  if (given === '*') return given;
  try {
    return await findPid(kernel, given);
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

async function pidsEndingIn(kernel: Kernel, text: string): Promise<Pid[]> {
  const found: Pid[] = [];
  let after: string | undefined;
  do {
    const page: Page<ProcessRecord> = await kernel.processes.list({
      limit: pageRows,
      ...(after === undefined ? {} : { after }),
    });
    for (const { pid } of page.items) if (pid.endsWith(text)) found.push(pid);
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
