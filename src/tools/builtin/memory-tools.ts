import { z } from 'zod';
import { KernelError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import { type ObjectHandle, type ObjectRef, objectTypes, type StoredObject } from '../../memory/object/object.js';
import type { ProcessMemory } from '../../memory/object-memory.js';
import { defineTool, type Tool, type ToolContext } from '../tool.js';

const previewCharsMax = 500;

const namespace = z.string().describe('A shared namespace, such as team/notes; default: your own.').optional();
const readArgs = z.strictObject({
  object: z.string().describe('The id of the object.').optional(),
  name: z.string().describe('Its name, when you do not have its id.').optional(),
  namespace,
});
const writeArgs = z.strictObject({
  payload: z.json().describe('What is to be remembered, as JSON.'),
  name: z.string().describe('A name to find it by. A name that is there already gets a new version.').optional(),
  type: z.enum(objectTypes).describe('What it is; default: observation.').optional(),
  title: z.string().optional(),
  tags: z.array(z.string()).optional(),
  namespace,
});
const searchArgs = z.strictObject({
  text: z.string().describe('Text that stands in the payload, the name or the title.').optional(),
  types: z.array(z.enum(objectTypes)).optional(),
  tags: z.array(z.string()).describe('All of these.').optional(),
  limit: z.number().int().min(1).max(100).describe('How many at most; default 20.').optional(),
});

const mergeArgs = z.strictObject({
  child: z.string().min(1).describe('The pid of a child of process.fork that has ended.'),
  policy: z
    .enum(['fail', 'ours', 'theirs', 'fields'])
    .describe('Of what both have changed: refuse (the default), keep yours, take theirs, or merge field by field.')
    .optional(),
});

/** The tools for memory. */
export function memoryTools(): Tool[] {
  return [
    defineTool({
      name: 'memory.read',
      description: 'Reads an object of your memory, by its id or by its name.',
      effect: 'pure',
      input: readArgs,
      run: read,
    }),
    defineTool({
      name: 'memory.write',
      description: 'Remembers something as an object that you, and those you fork, can find again.',
      effect: 'idempotent',
      input: writeArgs,
      run: write,
    }),
    defineTool({
      name: 'memory.search',
      description: 'Finds objects in your view of memory. Answers with a preview of each; read them with memory.read.',
      effect: 'pure',
      input: searchArgs,
      run: search,
    }),
    defineTool({
      name: 'memory.merge',
      description: 'Takes over what a forked child has written to memory.',
      effect: 'idempotent',
      input: mergeArgs,
      run: merge,
    }),
  ];
}

async function read(args: z.output<typeof readArgs>, { process: { memory } }: ToolContext) {
  const ref: ObjectRef = args.object ?? (await memory.lookup(args.name ?? '', args.namespace));
  const stored = await memory.read(ref);
  return { ...describeObject(stored), payload: stored.payload };
}

/** Idempotent: without a name, the object is named after the call, so that a repeated call writes the same object. */
async function write(args: z.output<typeof writeArgs>, { process: { memory }, idempotencyKey }: ToolContext) {
  const { payload, type = 'observation', name = `note-${idempotencyKey.slice(-16)}`, ...rest } = args;
  const known = await findByName(memory, name, args.namespace);
  const made =
    known === undefined
      ? await memory.create({ type, payload, name, immutable: false, ...rest } as Parameters<
          ProcessMemory['create']
        >[0])
      : await memory.update(known, payload);
  return { object: made.id, name };
}

async function findByName(
  memory: ProcessMemory,
  name: string,
  place: string | undefined,
): Promise<ObjectHandle | undefined> {
  try {
    return await memory.lookup(name, place);
  } catch (error) {
    if (error instanceof KernelError && error.code === 'NO_SUCH_OBJECT') return undefined;
    throw error;
  }
}

async function search({ limit = 20, ...filter }: z.output<typeof searchArgs>, { process: { memory } }: ToolContext) {
  const { items, next } = await memory.query({ ...filter, limit } as Parameters<ProcessMemory['query']>[0]);
  const objects = items.map((stored) => ({ ...describeObject(stored), preview: previewOf(stored) }));
  return { objects, more: next !== undefined };
}

async function merge({ child, policy }: z.output<typeof mergeArgs>, { process: { memory } }: ToolContext) {
  const { merged, adopted, skipped, conflicts } = await memory.merge(child, policy);
  return { merged: [...merged], adopted: [...adopted], skipped: [...skipped], conflicts: conflicts.length };
}

function describeObject({ id, type, name, title, tags, version, createdBy }: StoredObject): JsonObject {
  return {
    object: id,
    type,
    version,
    createdBy,
    tags: [...tags],
    ...(name === undefined ? {} : { name }),
    ...(title === undefined ? {} : { title }),
  };
}

function previewOf({ payload }: StoredObject): string {
  return JSON.stringify(payload).slice(0, previewCharsMax).toWellFormed();
}
