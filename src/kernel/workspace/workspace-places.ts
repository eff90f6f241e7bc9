import { lstatSync, readdirSync } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import path from 'node:path';
import { inject, injectable } from 'inversify';
import type { FilePlaces } from '../../capability/resource/workspace-files.js';
import { segmentsWithin, Workspace } from './working-directory.js';

/** The files of the workspace, as the disk shows them. */
@injectable()
export class WorkspacePlaces implements FilePlaces {
  private folding: boolean | undefined;

  constructor(@inject(Workspace) readonly workspace: string) {}

  get foldsCase(): boolean {
    this.folding ??= foldsCase(this.workspace);
    return this.folding;
  }

  async real(segments: readonly string[]): Promise<readonly string[] | undefined> {
    for (let there = segments.length; there >= 0; there--) {
      const spelled = path.join(this.workspace, ...segments.slice(0, there));
      const found = await locate(spelled);
      if (found === 'hidden') return undefined;
      if (found === 'missing') continue;
      const inside = segmentsWithin(this.workspace, found);
      return inside === undefined ? undefined : [...inside, ...segments.slice(there)];
    }
    return undefined;
  }
}

/** The real path; `missing` when nothing has that name; `hidden` for a link that leads nowhere and what cannot be looked at. */
async function locate(spelled: string): Promise<string | 'missing' | 'hidden'> {
  try {
    return await realpath(spelled);
  } catch {
    // Whether there is something all the same is looked at next.
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

/** Looks for a name that can be written in another case, and whether that names the same file. Writes nothing. */
function foldsCase(workspace: string): boolean {
  const names = namesIn(workspace);
  const all = new Set(names);
  for (const name of [...names.slice(0, namesMax), `../${path.basename(workspace)}`]) {
    const other = otherCase(name);
    if (other !== name) return !all.has(other) && isSameFile(path.join(workspace, name), path.join(workspace, other));
  }
  return process.platform === 'darwin' || process.platform === 'win32';
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // A folder that may not be listed has its own name to look at.
    return [];
  }
}

function otherCase(name: string): string {
  const upper = name.toUpperCase();
  return upper === name ? name.toLowerCase() : upper;
}

function isSameFile(one: string, other: string): boolean {
  try {
    const [first, second] = [lstatSync(one), lstatSync(other)];
    return first.ino === second.ino && first.dev === second.dev;
  } catch {
    // One of them is not there.
    return false;
  }
}
