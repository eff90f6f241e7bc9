import { lstatSync, readdirSync } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import path from 'node:path';
import { inject, injectable } from 'inversify';
import type { FilePlaces } from '../../capability/resource/workspace-files.js';
import { KernelFiles, noKernelFiles } from './kernel-files.js';
import { segmentsWithin, Workspace } from './working-directory.js';

/** The files of the workspace on disk. */
@injectable()
export class WorkspacePlaces implements FilePlaces {
  private folding: boolean | undefined;

  constructor(
    @inject(Workspace) readonly workspace: string,
    @inject(KernelFiles) private readonly kernelFiles: KernelFiles = noKernelFiles,
  ) {}

  get foldsCase(): boolean {
    this.folding ??= foldsCase(this.workspace);
    return this.folding;
  }

  async real(segments: readonly string[]): Promise<readonly string[] | undefined> {
    if (this.isKernelFile(segments)) return undefined;
    const real = await this.resolveLinks(segments);
    return real === undefined || this.isKernelFile(real) ? undefined : real;
  }

  private isKernelFile(segments: readonly string[]): boolean {
    return this.kernelFiles.covers(path.join(this.workspace, ...segments));
  }

  private async resolveLinks(segments: readonly string[]): Promise<readonly string[] | undefined> {
    for (let existing = segments.length; existing >= 0; existing--) {
      const spelled = path.join(this.workspace, ...segments.slice(0, existing));
      const found = await locate(spelled);
      if (found === 'hidden') return undefined;
      if (found === 'missing') continue;
      const inside = segmentsWithin(this.workspace, found);
      return inside === undefined ? undefined : [...inside, ...segments.slice(existing)];
    }
    return undefined;
  }
}

/** The real path; `missing` when nothing has that name; `hidden` for a dangling link and for a file that cannot be read. */
async function locate(spelled: string): Promise<string | 'missing' | 'hidden'> {
  try {
    return await realpath(spelled);
  } catch {
    // It may still exist, as a dangling link: checked next.
  }
  try {
    await lstat(spelled);
    return 'hidden';
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'hidden';
  }
}

const namesMax = 100;

/** Finds a name that differs in another case, and checks whether both name the same file. Writes nothing. */
function foldsCase(workspace: string): boolean {
  const names = namesIn(workspace);
  const all = new Set(names);
  for (const name of [...names.slice(0, namesMax), `../${path.basename(workspace)}`]) {
    const swapped = swapCase(name);
    if (swapped === name) continue;
    return !all.has(swapped) && isSameFile(path.join(workspace, name), path.join(workspace, swapped));
  }
  return process.platform === 'darwin' || process.platform === 'win32';
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // In a folder that cannot be listed, only its own name is tried.
    return [];
  }
}

function swapCase(name: string): string {
  const upper = name.toUpperCase();
  return upper === name ? name.toLowerCase() : upper;
}

function isSameFile(first: string, second: string): boolean {
  try {
    const [a, b] = [lstatSync(first), lstatSync(second)];
    return a.ino === b.ino && a.dev === b.dev;
  } catch {
    // One of them does not exist.
    return false;
  }
}
