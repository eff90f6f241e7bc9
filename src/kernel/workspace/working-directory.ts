import { realpath, stat } from 'node:fs/promises';
import path, { posix } from 'node:path';
import { inject, injectable } from 'inversify';
import { controlCharacters } from '../../base/characters.js';
import { InputError } from '../../base/errors.js';
import { type Token, token } from '../../base/token.js';

/** The folder that all working directories lie in, as a real path. */
export const Workspace: Token<string> = token('Workspace');

const pathCharsMax = 4096;
const refusedPatterns: readonly [pattern: RegExp, problem: string][] = [
  [controlCharacters, 'it has control or bidi characters'],
  [/^~/, 'a home directory is not expanded'],
  [/^[A-Za-z]:/, 'it has a drive letter'],
  [/\\/, 'it has a backslash; folders are separated by /'],
  [/^\//, 'it is absolute'],
];

/** Working directories: relative to the workspace, `/`-separated, normalised, existing, never outside. */
@injectable()
export class WorkingDirectories {
  constructor(@inject(Workspace) private readonly workspace: string) {}

  /** `path` as seen from `from`, in canonical form. Looks at the disk, so it stands before the unit. Throws INVALID_PATH. */
  async resolve(from: string, given: string): Promise<string> {
    const normal = normalizePath(from, given);
    const missing = () => {
      throw invalidPath(given, 'there is no such folder');
    };
    const real = await realpath(path.join(this.workspace, normal)).catch(missing);
    if (segmentsWithin(this.workspace, real) === undefined)
      throw invalidPath(given, 'a link leads out of the workspace');
    // It may have gone since.
    if (!(await stat(real).catch(missing)).isDirectory()) throw invalidPath(given, 'it is not a folder');
    return normal;
  }
}

/** The names on the way from `folder` to `file`, or undefined when it does not lie in it. */
export function segmentsWithin(folder: string, file: string): readonly string[] | undefined {
  const inside = path.relative(folder, file);
  if (inside === '..' || inside.startsWith(`..${path.sep}`) || path.isAbsolute(inside)) return undefined;
  return inside === '' ? [] : inside.split(path.sep);
}

/** The canonical spelling of `given` as seen from `from`. Looks at the text only. Throws INVALID_PATH. */
export function normalizePath(from: string, given: string): string {
  if (given.length === 0 || given.length > pathCharsMax) throw invalidPath(given, 'it is empty or too long');
  if (!given.isWellFormed()) throw invalidPath('?', 'it has a lone surrogate');
  for (const [pattern, problem] of refusedPatterns) if (pattern.test(given)) throw invalidPath(given, problem);
  // In NFC, as resources are: what a process is asked the right for is where it then works.
  const normal = posix.normalize(`${from}/${given.normalize('NFC')}`).replace(/\/+$/, '');
  if (normal === '..' || normal.startsWith('../')) throw invalidPath(given, 'it leaves the workspace');
  return normal;
}

/** A path that is not used, and why. Shows it bounded and well-formed. */
export function invalidPath(given: string, problem: string): InputError {
  const shown = given.slice(0, 200).toWellFormed();
  return new InputError('INVALID_PATH', `The path ${JSON.stringify(shown)} was refused: ${problem}.`, {
    facts: { path: shown, problem },
    hint: 'Give a path inside the workspace, relative to the working directory, such as "src/app".',
  });
}
