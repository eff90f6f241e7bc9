import { realpath, rmdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { invalidPath, segmentsWithin } from '../../kernel/workspace/working-directory.js';
import { KernelFile, withFile } from '../files/file-errors.js';
import { type FileTarget, fileResources, fileTarget, pathInput } from '../files/file-target.js';
import { statEntry } from '../files/folder-entries.js';
import { type FileAccess, type OpenFolder, openBelow } from '../files/open-folder.js';
import { defineTool, type Tool } from '../tool.js';

const input = z.strictObject({ path: pathInput('The file or empty folder') });

const output = z.strictObject({ deleted: z.literal(true) });

/** Deletes a file, a link or an empty folder. */
export function fsDelete(access: FileAccess): Tool {
  return defineTool({
    name: 'fs.delete',
    description:
      'Deletes a file, or a folder that is empty. Of a link, the link is deleted and not what it leads to. ' +
      'It cannot be undone.',
    input,
    output,
    effect: 'idempotent',
    paths: ['path'],
    resources: ({ path }) => fileResources(path, ['delete']),
    run: async (args, context) => {
      const target = fileTarget(context, args.path);
      const { inputPath } = target;
      return withFile(inputPath, context.signal, async () => {
        const names = await entryNames(context.workspace, target);
        const name = names.at(-1);
        if (name === undefined) throw invalidPath(inputPath, 'it is the workspace itself');
        await using folder = await openBelow(context.workspace, names.slice(0, -1), access);
        const isRemoved = await removeEntry(folder, name);
        // An earlier attempt may have done it before it was interrupted.
        if (!isRemoved && context.attempt === 1) throw invalidPath(inputPath, 'there is no such file or folder');
        return { deleted: true };
      });
    },
  });
}

/**
 * The names down to the entry itself. For a link they differ from those of the target: the link is deleted under the
 * requested name, and only if no other link leads to it, because no other name has been checked.
 */
async function entryNames(
  workspace: string,
  { inputPath, path: requested, names }: FileTarget,
): Promise<readonly string[]> {
  const requestedNames = requested === '.' ? [] : requested.split('/');
  if (requestedNames.join('/') === names.join('/')) return names;
  const parentNames = segmentsWithin(workspace, await realpath(path.join(workspace, ...requestedNames.slice(0, -1))));
  const name = requestedNames.at(-1);
  if (parentNames === undefined || name === undefined)
    throw invalidPath(inputPath, 'a link leads out of the workspace');
  if ([...parentNames, name].join('/') === names.join('/')) return names;
  if ([...parentNames, name].join('/') === requested) return requestedNames;
  throw invalidPath(inputPath, 'it is a link, and there are links on the way to it');
}

/** Removes an entry: a folder only when it is empty, a link and not its target. False when there is no such entry. */
async function removeEntry(folder: OpenFolder, name: string): Promise<boolean> {
  const stats = await statEntry(folder, name);
  await folder.verify();
  if (stats === undefined) return false;
  if (folder.isKernels(name, stats)) throw new KernelFile();
  if (stats.isDirectory()) await rmdir(folder.pathOf(name));
  else await unlink(folder.pathOf(name));
  return true;
}
