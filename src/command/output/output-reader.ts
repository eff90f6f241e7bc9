import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { inject, injectable } from 'inversify';
import { wholeCharacters } from '../../base/characters.js';
import { invalidInput, ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { Store } from '../../base/store.js';
import type { CommandOutput, OutputMatch, OutputPart } from '../../kernel/command/command-ports.js';
import { CommandRepository } from '../../kernel/command/command-repository.js';
import { isTerminal, type ProcessRow } from '../../kernel/process/process.js';
import { ProcessLookup } from '../../kernel/process/process-lookup.js';
import { parse, parsePid, readOutputOptions, waitOutputOptions } from '../../kernel/specs.js';
import { type Caller, waitAs } from '../../unit/caller.js';
import { outcomeUnknown } from '../command-errors.js';
import { OutputFiles } from './output-files.js';
import { findPattern, type OutputPattern, toOutputPattern } from './output-pattern.js';

const pollMs = 50;
const pageBytes = 256 * 1024;
/** A match can begin this far before the end of what was searched so far. */
const windowBytes = 64 * 1024;
const characterBytesMax = 4;
const patternCharsMax = 4_096;

type Stream = 'stdout' | 'stderr';

/** Reads the output of commands, while they run and afterwards. */
@injectable()
export class OutputReader implements CommandOutput {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(OutputFiles) private readonly files: OutputFiles,
  ) {}

  async read(caller: Caller, input: unknown, options: unknown = {}): Promise<OutputPart> {
    const pid = parsePid(input);
    const { stream, offset, length } = parse(readOutputOptions, options, 'options');
    const { file, ended } = await this.findFile(caller, pid, stream);
    const size = this.files.size(file);
    // At least one whole character is given, even if it is longer than `length`, so that reading on makes progress.
    const bytes = this.files.read(file, offset, Math.max(length, characterBytesMax));
    const isAll = ended && offset + bytes.length >= size;
    const part = cutAtCharacter(bytes, length, isAll);
    return { text: part.toString(), next: offset + part.length, size, ended };
  }

  async wait(caller: Caller, input: unknown, rawPattern: unknown, options: unknown = {}): Promise<OutputMatch> {
    const pid = parsePid(input);
    const pattern = parsePattern(rawPattern);
    const { stream, offset, timeoutMs = Number.POSITIVE_INFINITY } = parse(waitOutputOptions, options, 'options');
    // Files grow in real time, which the timers of the kernel's clock do not measure: so they are polled here.
    const until = performance.now() + timeoutMs;
    const reason = { kind: 'child', what: pid, on: [`child:${pid}`] } as const;
    let searchedTo = offset;
    for (;;) {
      // The state is read before the output, so that nothing is missed that was written before the end.
      const { file, ended, outcome } = await this.findFile(caller, pid, stream);
      const match = this.findMatch(file, pattern, searchedTo);
      if (match.text !== undefined) return { matched: true, text: match.text, next: match.next, ended };
      if (outcome?.kind === 'abandoned') throw outcomeUnknown({ pid, outcome });
      if (ended) return { matched: false, next: match.next, ended };
      const leftMs = until - performance.now();
      if (leftMs <= 0) return { matched: false, next: match.next, ended };
      searchedTo = match.next;
      await waitAs(caller, reason, () => sleep(Math.min(pollMs, leftMs)));
    }
  }

  /** Searches the whole file from `from` on. `next` is the offset after the match, or where an incomplete match may begin. */
  private findMatch(
    file: string,
    pattern: OutputPattern,
    from: number,
  ): { readonly text?: string; readonly next: number } {
    for (let offset = from; ; ) {
      const bytes = this.files.read(file, offset, pageBytes);
      const match = findPattern(bytes, pattern);
      if (match !== undefined) return { text: match.text, next: offset + match.end };
      const isLast = bytes.length < pageBytes;
      const window = Math.min(bytes.length, windowBytes);
      if (isLast) return { next: offset + bytes.length - window };
      offset += bytes.length - window;
    }
  }

  private async findFile(caller: Caller, pid: Pid, stream: Stream): Promise<FoundOutput> {
    const { row, isAdopted } = await this.store.read(async (tx) => {
      if (caller.face === 'process') await this.lookup.getLive(tx, caller.pid);
      const found = await this.lookup.get(tx, pid).catch((error) => hideMissing(caller, pid, error));
      const command = await this.commands.find(tx, found.n);
      return { row: found, isAdopted: command !== undefined && command.adopted !== null };
    });
    if (caller.face === 'process' && row.parent !== caller.pid) throw notAChild(caller.pid, pid);
    if (row.kind !== 'command' || isAdopted) throw hasNoOutput(row);
    const { outputFile, errorFile } = this.files.of(row.n);
    const { status, outcome } = row;
    return { file: stream === 'stdout' ? outputFile : errorFile, ended: isTerminal(status), outcome };
  }
}

/** The file that a command writes to, and the state of the command. */
interface FoundOutput {
  readonly file: string;
  readonly ended: boolean;
  readonly outcome: ProcessRow['outcome'];
}

/** Cuts between characters; an incomplete character at the end of all output is kept. */
function cutAtCharacter(bytes: Buffer, length: number, isAll: boolean): Buffer {
  const requested = bytes.subarray(0, length);
  if (isAll && bytes.length <= length) return bytes;
  const whole = requested.subarray(0, wholeCharacters(requested));
  if (whole.length > 0 || requested.length < length) return whole;
  return bytes.subarray(0, wholeCharacters(bytes) || bytes.length);
}

function parsePattern(raw: unknown): OutputPattern {
  const isPattern = typeof raw === 'string' ? raw.length > 0 : raw instanceof RegExp;
  const pattern = isPattern ? toOutputPattern(raw as string | RegExp) : undefined;
  if (pattern !== undefined && pattern.source.length <= patternCharsMax) return pattern;
  throw invalidInput(
    'pattern',
    `is not a text or a RegExp of up to ${patternCharsMax} characters`,
    'Give one of them.',
  );
}

/** A process gets the same error for a pid that does not exist as for one that is not its child. */
function hideMissing(caller: Caller, pid: Pid, error: unknown): never {
  throw caller.face === 'process' ? notAChild(caller.pid, pid) : error;
}

function notAChild(pid: Pid, child: Pid): ProcessError {
  return new ProcessError('NOT_A_CHILD', `Process ${pid} has no child ${JSON.stringify(child)}.`, {
    facts: { pid, child },
    hint: 'A process reads the output of its own children.',
  });
}

function hasNoOutput({ pid, kind }: ProcessRow): ProcessError {
  const what = kind === 'command' ? 'a program that was adopted' : `of kind ${kind}`;
  return new ProcessError('INVALID_TRANSITION', `Process ${pid} is ${what}: it has no output.`, {
    facts: { pid, kind },
    hint: 'Only commands that the kernel starts write to its files; the result of another process is given by wait.',
  });
}
