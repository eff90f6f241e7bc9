import { z } from 'zod';
import { amount } from '../../base/spec.js';
import { withFile } from '../files/file-errors.js';
import { fileResources, fileTarget, pathInput } from '../files/file-target.js';
import { entryType, entryTypes, listNames, statEntry } from '../files/folder-entries.js';
import { type FileAccess, openBelow } from '../files/open-folder.js';
import { defineTool, type Tool } from '../tool.js';

const entriesMax = 1_000;

const input = z.strictObject({
  path: pathInput('The folder').default('.'),
  after: z.string().optional().describe('Go on after this name, for a folder with many entries.'),
});

const entry = z.strictObject({ name: z.string(), type: z.enum(entryTypes), size: amount });

const output = z.strictObject({
  entries: z.array(entry).describe('In the order of their names; `size` in bytes.'),
  truncated: z.boolean().describe('Whether there are more.'),
});

/** Lists a folder. */
export function fsList(access: FileAccess): Tool {
  return defineTool({
    name: 'fs.list',
    description:
      `Lists what is in a folder, not what is in the folders below it: at most ${entriesMax} entries. ` +
      'When the result is truncated, list on with the last name as `after`.',
    input,
    output,
    effect: 'pure',
    paths: ['path'],
    resources: ({ path }) => fileResources(path, ['list']),
    run: async (args, context) => {
      const { after } = args;
      const { names: folderNames, inputPath: path } = fileTarget(context, args.path);
      return withFile(path, context.signal, async () => {
        await using folder = await openBelow(context.workspace, folderNames, access);
        const { names, isTruncated } = await listNames(folder, context.signal);
        const rest = after === undefined ? names : names.filter((name) => name > after);
        const entries: z.output<typeof entry>[] = [];
        for (const name of rest.slice(0, entriesMax)) {
          context.signal.throwIfAborted();
          const stats = await statEntry(folder, name);
          if (stats !== undefined && !folder.isKernels(name, stats))
            entries.push({ name, type: entryType(stats), size: stats.size });
        }
        return { entries, truncated: isTruncated || rest.length > entriesMax };
      });
    },
  });
}
