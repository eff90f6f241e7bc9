import { z } from 'zod';
import {
  InputError,
  KernelError,
  type ObjectHandle,
  type ObjectSpec,
  objectTypes,
  type ProcessFace,
  type StoredObject,
} from '../../index.js';
import { idempotent, json, type McpTool, mcpTool, readOnly } from './mcp-tool.js';

/** Payloads that are longer are shown by their beginning; memory_read gives the whole. */
const previewCharsMax = 1_000;

const namespace = z.string().describe('A shared namespace, such as "team/notes"; absent: your own.').exactOptional();
const tags = z.array(z.string());
const which = {
  object: z.string().describe('The id of an object.').exactOptional(),
  name: z.string().describe('Its name, where you do not have its id.').exactOptional(),
  namespace,
};

const writeInput = z.strictObject({
  ...which,
  payload: json.describe('What is to be remembered, as JSON.'),
  type: z.enum(objectTypes).describe('What a new object is.').default('observation'),
  title: z.string().describe('Of a new object.').exactOptional(),
  tags: tags.describe('Of a new object.').exactOptional(),
  ifVersion: z.number().int().min(1).describe('Refused when the object has another version by now.').exactOptional(),
});

const searchInput = z.strictObject({
  text: z.string().describe('Text that stands somewhere in the payload, the name or the title.').exactOptional(),
  types: z.array(z.enum(objectTypes)).exactOptional(),
  tags: tags.describe('All of these.').exactOptional(),
  name: z.string().exactOptional(),
  namespace,
  limit: z.number().int().min(1).max(100).describe('How many at most.').default(20),
  after: z.string().describe('Goes on where an earlier answer said next.').exactOptional(),
});

/** The tools for the memory of the process. */
export function memoryTools({ memory }: ProcessFace): McpTool[] {
  return [
    mcpTool({
      name: 'memory_read',
      description: 'Reads an object of your memory whole, by its id or by its name.',
      input: z.strictObject({
        ...which,
        version: z.number().int().min(1).describe('An earlier version.').exactOptional(),
      }),
      hints: readOnly,
      run: async ({ object, name, namespace: place, ...version }) =>
        memory.read(object ?? (await memory.lookup(requireName(name), place)), version),
    }),
    mcpTool({
      name: 'memory_write',
      description:
        'Remembers something as an object. A name that is there already, or the id of an object, gets a new version; otherwise a new object is made.',
      input: writeInput,
      hints: idempotent,
      run: async (args) => writeObject(memory, args),
    }),
    mcpTool({
      name: 'memory_search',
      description:
        'Finds objects in your view of memory; your goal has the type "goal". Long payloads are shown by their beginning: read them with memory_read.',
      input: searchInput,
      hints: readOnly,
      run: async (filter) => {
        const { items, next } = await memory.query(filter);
        return { objects: items.map(toPreview), ...(next === undefined ? {} : { next }) };
      },
    }),
  ];
}

type Memory = ProcessFace['memory'];

async function writeObject(memory: Memory, args: z.output<typeof writeInput>) {
  const { object, ifVersion, payload, ...made } = args;
  const known = object ?? (await findByName(memory, made.name, made.namespace));
  const handle =
    known === undefined
      ? await memory.create({ ...made, payload, immutable: false } as ObjectSpec)
      : await memory.update(known, payload, ifVersion === undefined ? {} : { ifVersion });
  const { id, version } = await memory.read(handle);
  return { object: id, version, isNew: known === undefined };
}

async function findByName(
  memory: Memory,
  name: string | undefined,
  place: string | undefined,
): Promise<ObjectHandle | undefined> {
  try {
    return name === undefined ? undefined : await memory.lookup(name, place);
  } catch (error) {
    if (error instanceof KernelError && error.code === 'NO_SUCH_OBJECT') return undefined;
    throw error;
  }
}

function requireName(name: string | undefined): string {
  if (name !== undefined) return name;
  throw new InputError('INVALID_INPUT', 'arguments: neither object nor name is given.', {
    facts: { path: 'arguments', problem: 'neither object nor name' },
    hint: 'Give the id of the object, or its name.',
  });
}

function toPreview({ payload, hash: _hash, sources: _sources, ...about }: StoredObject) {
  const text = JSON.stringify(payload);
  if (text.length <= previewCharsMax) return { ...about, payload };
  return { ...about, beginning: text.slice(0, previewCharsMax).toWellFormed() };
}
