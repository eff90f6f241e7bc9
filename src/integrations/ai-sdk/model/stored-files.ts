import type { JsonValue, ObjectId, Syscalls } from '../../../index.js';
import type { ModelPart } from './model-call.js';

/** Parts with the data of a file. `reasoning-file` exists since version 7 of the SDK. */
export const fileTypes: ReadonlySet<string> = new Set(['file', 'reasoning-file']);

/** Characters of base64 in one object. */
const pieceChars = 524_288;

/**
 * Stores the data of generated files as objects of the process, out of its view, and puts their ids in its place: a journal
 * holds no files. To be called in a step.
 */
export async function storeFiles(ctx: Syscalls, parts: readonly ModelPart[]): Promise<ModelPart[]> {
  return Promise.all(parts.map((part) => (fileTypes.has(part.type) ? storeFile(ctx, part) : part)));
}

async function storeFile(ctx: Syscalls, part: ModelPart): Promise<ModelPart> {
  const data = base64Of(part.data);
  // A file that is somewhere else stays there.
  if (data === undefined) return part;
  const title = `file ${String(part.mediaType ?? '')}`.trim();
  const objects: JsonValue[] = [];
  for (let from = 0; from === 0 || from < data.length; from += pieceChars) {
    const payload = { mediaType: String(part.mediaType ?? ''), base64: data.slice(from, from + pieceChars) };
    const { id } = await ctx.memory.create({ type: 'artifact', title, payload, inView: false });
    objects.push(id);
  }
  return { ...part, data: { objects, nested: typeof part.data === 'object' && !(part.data instanceof Uint8Array) } };
}

/** The parts with the data of their files again. */
export async function loadFiles(ctx: Syscalls, parts: readonly ModelPart[]): Promise<ModelPart[]> {
  return Promise.all(parts.map((part) => (fileTypes.has(part.type) ? loadFile(ctx, part) : part)));
}

async function loadFile(ctx: Syscalls, part: ModelPart): Promise<ModelPart> {
  const { objects, nested } = (part.data ?? {}) as { objects?: readonly ObjectId[]; nested?: boolean };
  if (objects === undefined) return part;
  const pieces = await Promise.all(objects.map(async (id) => (await ctx.memory.read(id)).payload));
  const data = pieces.map((payload) => (payload as { base64: string }).base64).join('');
  return { ...part, data: nested === true ? { type: 'data', data } : data };
}

/** The data in either form that the specification has had: by itself, or as `{ type: 'data', data }`. */
function base64Of(data: unknown): string | undefined {
  if (typeof data === 'string') return data.toWellFormed();
  if (data instanceof Uint8Array) return Buffer.from(data).toString('base64');
  if (typeof data !== 'object' || data === null) return undefined;
  return 'data' in data ? base64Of(data.data) : undefined;
}
