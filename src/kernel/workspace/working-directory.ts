import { realpath, stat } from 'node:fs/promises';
import path, { posix } from 'node:path';
import { inject, injectable } from 'inversify';
import { controlCharacters } from '../../base/characters.js';
import { InputError } from '../../base/errors.js';
import { type Token, token } from '../../base/token.js';
import { KernelFiles } from './kernel-files.js';

/** The folder that all working directories lie in, as a real path. */
export const Workspace: Token<string> = token('Workspace');

/** The problem with a path at which the kernel keeps its own files. */
export const ofKernel = 'it belongs to the kernel itself';

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
  constructor(
    @inject(Workspace) private readonly workspace: string,
    @inject(KernelFiles) private readonly kernelFiles: KernelFiles,
  ) {}

  /** `spelled` relative to `from`, in canonical form. Reads the disk, so it is not for units. Throws INVALID_PATH. */
  async resolve(from: string, spelled: string): Promise<string> {
    const normal = normalizePath(from, spelled);
    const throwMissing = () => {
      throw invalidPath(spelled, 'there is no such folder');
    };
    const spelledPath = path.join(this.workspace, normal);
    if (this.kernelFiles.covers(spelledPath)) throw invalidPath(spelled, ofKernel);
    const real = await realpath(spelledPath).catch(throwMissing);
    if (segmentsWithin(this.workspace, real) === undefined) {
      throw invalidPath(spelled, 'a link leads out of the workspace');
    }
    if (this.kernelFiles.includesFolder(real, this.workspace)) throw invalidPath(spelled, ofKernel);
    // It may have been removed meanwhile.
    if (!(await stat(real).catch(throwMissing)).isDirectory()) throw invalidPath(spelled, 'it is not a folder');
    return normal;
  }
}

/** The path segments from `folder` to `file`, or undefined when `file` is outside of it. */
export function segmentsWithin(folder: string, file: string): readonly string[] | undefined {
  const inside = path.relative(folder, file);
  if (inside === '..' || inside.startsWith(`..${path.sep}`) || path.isAbsolute(inside)) return undefined;
  return inside === '' ? [] : inside.split(path.sep);
}

/** The canonical spelling of `spelled` relative to `from`. Does not read the disk. Throws INVALID_PATH. */
export function normalizePath(from: string, spelled: string): string {
  if (spelled.length === 0 || spelled.length > pathCharsMax) throw invalidPath(spelled, 'it is empty or too long');
  if (!spelled.isWellFormed()) throw invalidPath('?', 'it has a lone surrogate');
  for (const [pattern, problem] of refusedPatterns) if (pattern.test(spelled)) throw invalidPath(spelled, problem);
  // In NFC, as resources are: the folder that is authorized is the folder that is used.
  const normal = posix.normalize(`${from}/${spelled.normalize('NFC')}`).replace(/\/+$/, '');
  if (normal === '..' || normal.startsWith('../')) throw invalidPath(spelled, 'it leaves the workspace');
  return normal;
}

/**
 * The path relative to the workspace, in canonical form. An absolute path must be canonical already, so that constraints
 * meet only one spelling. Looks at the text only. Throws INVALID_PATH.
 */
export function workspacePath(
  { cwd, workspace }: { readonly cwd: string; readonly workspace: string },
  inputPath: string,
): string {
  if (!posix.isAbsolute(inputPath)) return normalizePath(cwd, inputPath);
  if (inputPath === workspace) return '.';
  const above = workspace.endsWith('/') ? workspace : `${workspace}/`;
  if (!inputPath.startsWith(above)) throw invalidPath(inputPath, 'it is absolute, and not in the workspace');
  const inside = inputPath.slice(above.length);
  if (normalizePath('.', inside) !== inside)
    throw invalidPath(inputPath, 'it is absolute, and not spelled canonically');
  return inside;
}

/** The message has the path bounded and well-formed. */
export function invalidPath(spelled: string, problem: string): InputError {
  const shown = spelled.slice(0, 200).toWellFormed();
  return new InputError('INVALID_PATH', `The path ${JSON.stringify(shown)} was refused: ${problem}.`, {
    facts: { path: shown, problem },
    hint: 'Give a path inside the workspace, relative to the working directory, such as "src/app".',
  });
}
