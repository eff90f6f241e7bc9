import { z } from 'zod';
import { type InputError, invalidInput } from '../../base/errors.js';
import { sha256Hex } from '../../base/json.js';
import { amount } from '../../base/spec.js';
import { invalidPath } from '../../kernel/workspace/working-directory.js';
import { withFile } from '../files/file-errors.js';
import { exists, fileResources, fileTarget, pathInput } from '../files/file-target.js';
import { type FileAccess, openBelow } from '../files/open-folder.js';
import { createFile, replaceFile } from '../files/write-file.js';
import { defineTool, type Tool } from '../tool.js';

const writeBytesMax = 1024 * 1024;

const input = z.strictObject({
  path: pathInput('The file'),
  content: z.string().max(writeBytesMax).describe(`The text, at most ${writeBytesMax} bytes as UTF-8.`),
});

const output = z.strictObject({
  size: amount.describe('Of the file, in bytes.'),
  created: z.boolean().describe('Whether it was not there before.'),
});

/** Writes a whole file. */
export function fsWrite(access: FileAccess): Tool {
  return defineTool({
    name: 'fs.write',
    description:
      'Writes a whole file: all of the text, or nothing if it fails. What was in the file is replaced; ' +
      'a file that is not there is made, with the folders above it.',
    input,
    output,
    effect: 'idempotent',
    paths: ['path'],
    resources: ({ path }, place) => fileResources(path, [exists(place, path) ? 'write' : 'create'], 'write'),
    run: async (args, context) => {
      const { content } = args;
      const bytes = Buffer.from(content);
      if (bytes.length > writeBytesMax) throw tooLong(bytes.length);
      const { names, right, inputPath: path } = fileTarget(context, args.path);
      const created = right === 'create';
      const { signal, workspace, idempotencyKey } = context;
      return withFile(path, signal, async () => {
        const name = names.at(-1);
        if (name === undefined) throw invalidPath(path, 'it is a folder');
        await using folder = await openBelow(workspace, names.slice(0, -1), access, created);
        const writing = { folder, name, inputPath: path, bytes, draft: draftName(idempotencyKey, names), signal };
        if (created) await createFile(writing);
        else await replaceFile(writing);
        return { size: bytes.length, created };
      });
    },
  });
}

/** The same for every attempt of a call, so that an attempt finds the draft that an earlier one has left. */
function draftName(idempotencyKey: string, names: readonly string[]): string {
  return `.procura-${sha256Hex(JSON.stringify([idempotencyKey, ...names])).slice(0, 24)}.draft`;
}

function tooLong(length: number): InputError {
  return invalidInput('args.content', `is longer than ${writeBytesMax} bytes`, 'Write a shorter text.', { length });
}
