import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { z } from 'zod';
import { amount } from '../../base/spec.js';
import { KernelFile, UnexpectedLink, withFile } from '../files/file-errors.js';
import { fileResources, fileTarget, pathInput } from '../files/file-target.js';
import { entryType, entryTypes } from '../files/folder-entries.js';
import { type FileAccess, openBelow } from '../files/open-folder.js';
import { defineTool, type Tool } from '../tool.js';

const input = z.strictObject({ path: pathInput('The file or folder') });

const output = z.strictObject({
  type: z.enum(entryTypes),
  size: amount.describe('In bytes.'),
  modifiedAt: z.number().int().describe('Epoch milliseconds.'),
  mode: z.string().describe('The permissions, such as "644".'),
});

/** Gives type, size and time of change of a file or folder. */
export function fsStat(access: FileAccess): Tool {
  return defineTool({
    name: 'fs.stat',
    description: 'Tells whether a file or folder is there, and its type, size and time of change.',
    input,
    output,
    effect: 'pure',
    paths: ['path'],
    resources: ({ path }) => fileResources(path, ['read']),
    run: async (args, context) => {
      const { names, inputPath: path } = fileTarget(context, args.path);
      return withFile(path, context.signal, async () => {
        const stats = await statOf(context.workspace, names, access);
        if (stats.isSymbolicLink()) throw new UnexpectedLink();
        const { size, mtimeMs, mode } = stats;
        return { type: entryType(stats), size, modifiedAt: Math.floor(mtimeMs), mode: (mode & 0o777).toString(8) };
      });
    },
  });
}

/** Opens only folders, never the file. */
async function statOf(workspace: string, names: readonly string[], access: FileAccess): Promise<Stats> {
  await using folder = await openBelow(workspace, names.slice(0, -1), access);
  const name = names.at(-1);
  if (name === undefined) return folder.stat();
  const stats = await lstat(folder.pathOf(name));
  await folder.verify();
  if (folder.isKernels(name, stats)) throw new KernelFile();
  return stats;
}
