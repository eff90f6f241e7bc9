import { rmdir, unlink } from 'node:fs/promises';
import { entryIn } from './folder-entries.js';
import type { OpenFolder } from './open-folder.js';

/** Takes an entry out of its folder: a folder only when it is empty, a link and not what it leads to. False: there is none. */
export async function removeEntry(folder: OpenFolder, name: string): Promise<boolean> {
  const stats = await entryIn(folder, name);
  await folder.confirm();
  if (stats === undefined) return false;
  if (stats.isDirectory()) await rmdir(folder.at(name));
  else await unlink(folder.at(name));
  return true;
}
