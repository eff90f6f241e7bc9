import { posix } from 'node:path';
import { z } from 'zod';
import { amount } from '../../base/spec.js';
import { withFile } from '../files/file-errors.js';
import { matchesMax, searchFiles } from '../files/file-search.js';
import { fileResources, fileTarget, pathInput, toCallerPath } from '../files/file-target.js';
import type { FileAccess } from '../files/open-folder.js';
import { defineTool, type Tool } from '../tool.js';

const input = z.strictObject({
  path: pathInput('The folder to search in with all below it, or a file').default('.'),
  pattern: z
    .string()
    .min(1)
    .max(1_000)
    .regex(/^[^\r\n]*$/, 'is more than one line')
    .describe('The text to find within a line, taken literally: not a regular expression, no wildcards.'),
  ignoreCase: z.boolean().default(false),
});

const match = z.strictObject({
  path: z.string().describe('As the file tools take it.'),
  line: amount.describe('Counts from 1.'),
  text: z.string().describe('The line, or the part of it around what was found.'),
});

const output = z.strictObject({
  matches: z.array(match),
  files: amount.describe('How many files were searched.'),
  skipped: amount.describe('How many were not: too large, binary, or not readable.'),
  truncated: z.boolean().describe('Whether the search was stopped before it had seen all.'),
});

/** Searches the files of a folder for a text. */
export function fsSearch(access: FileAccess): Tool {
  return defineTool({
    name: 'fs.search',
    description:
      'Finds the lines that contain a literal text, in all files of a folder and those below it. ' +
      `Links are not followed; at most ${matchesMax} lines are given. What you may not read is left out.`,
    input,
    output,
    effect: 'pure',
    paths: ['path'],
    resources: ({ path }) => fileResources(path, ['list', 'read']),
    run: async ({ path, pattern, ignoreCase }, context) => {
      const target = fileTarget(context, path);
      return withFile(target.inputPath, context.signal, async () => {
        const { matches, ...report } = await searchFiles(context, target, access, { pattern, ignoreCase });
        const toPath = (below: string) => toCallerPath(context, posix.join(path, below));
        return { ...report, matches: matches.map((match) => ({ ...match, path: toPath(match.path) })) };
      });
    },
  });
}
