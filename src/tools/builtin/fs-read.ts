import { z } from 'zod';
import { amount } from '../../base/spec.js';
import { textContent } from '../../base/text-content.js';
import { invalidPath } from '../../kernel/workspace/working-directory.js';
import { withFile } from '../files/file-errors.js';
import { fileResources, fileTarget, pathInput } from '../files/file-target.js';
import { type FileAccess, openBelow } from '../files/open-folder.js';
import { openRegular } from '../files/regular-file.js';
import { defineTool, type Tool } from '../tool.js';

const readBytesMax = 512 * 1024;

const input = z.strictObject({
  path: pathInput('The file'),
  offset: amount.default(0).describe('The byte to begin at.'),
  limit: z
    .number()
    .int()
    .min(1)
    .max(readBytesMax)
    .default(64 * 1024)
    .describe(`How many bytes to read, at most ${readBytesMax}.`),
});

const output = z.strictObject({
  content: z.string(),
  encoding: z.enum(['utf8', 'base64']).describe('base64 for what is not UTF-8 text.'),
  size: amount.describe('Of the whole file, in bytes.'),
  offset: amount,
  next: amount.describe('The offset to go on at.'),
  truncated: z.boolean().describe('Whether there is more after it.'),
});

/** Reads a part of a file. */
export function fsRead(access: FileAccess): Tool {
  return defineTool({
    name: 'fs.read',
    description:
      'Reads a file. Text is given as it is and cut between characters; what is not UTF-8 is given as base64. ' +
      'When the result is truncated, read on with its `next` as the offset.',
    input,
    output,
    effect: 'pure',
    paths: ['path'],
    resources: ({ path }) => fileResources(path, ['read']),
    run: async (args, context) => {
      const { offset, limit } = args;
      const { names, inputPath: path } = fileTarget(context, args.path);
      return withFile(path, context.signal, async () => {
        const name = names.at(-1);
        if (name === undefined) throw invalidPath(path, 'it is a folder');
        await using folder = await openBelow(context.workspace, names.slice(0, -1), access);
        await using file = await openRegular(folder, name, path);
        const bytes = await file.read(offset, limit);
        const { content, encoding, taken } = textContent(bytes, offset + bytes.length < file.size);
        const next = offset + taken;
        return { content, encoding, size: file.size, offset, next, truncated: next < file.size };
      });
    },
  });
}
