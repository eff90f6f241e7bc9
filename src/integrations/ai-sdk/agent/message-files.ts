import type { FilePart, ModelMessage } from 'ai';
import { type JsonValue, ObjectHandle, type ObjectId, type Syscalls } from '../../../index.js';

/** A file in a message of the journal: the object that holds it, and its type. */
type FileReference = { readonly type: 'file'; readonly mediaType: string; readonly object: ObjectId };

const handlesMax = 32;

/** The handles in a value, at most 32 of them. */
export function handlesIn(value: unknown): ObjectHandle[] {
  const found: ObjectHandle[] = [];
  const visit = (each: unknown): void => {
    if (found.length >= handlesMax || typeof each !== 'object' || each === null) return;
    if (each instanceof ObjectHandle) found.push(each);
    else for (const member of Object.values(each)) visit(member);
  };
  visit(value);
  return found;
}

/** The handles of files: objects with a payload of `{ mediaType, base64 }`. Others are left to the tools of memory. */
export async function filesIn(ctx: Syscalls, handles: readonly ObjectHandle[]): Promise<FileReference[]> {
  const files = await Promise.all(
    handles.map(async ({ id }): Promise<FileReference[]> => {
      const file = fileIn((await ctx.memory.read(id)).payload);
      return file === undefined ? [] : [{ type: 'file', mediaType: file.mediaType, object: id }];
    }),
  );
  return files.flat();
}

/** The messages with the data of their files, as the model is asked with. */
export async function withFiles(ctx: Syscalls, messages: readonly ModelMessage[]): Promise<ModelMessage[]> {
  return Promise.all(
    messages.map(async (message) => {
      if (message.role !== 'user' || typeof message.content === 'string') return message;
      return { ...message, content: await Promise.all(message.content.map((part) => withFile(ctx, part))) };
    }),
  );
}

type UserPart = Exclude<Extract<ModelMessage, { role: 'user' }>['content'], string>[number];

async function withFile(ctx: Syscalls, part: UserPart): Promise<UserPart> {
  if (!('object' in part)) return part;
  const { object, mediaType } = part as object as FileReference;
  const file = fileIn((await ctx.memory.read(object)).payload);
  if (file === undefined) return { type: 'text', text: `[the file ${object} is gone]` };
  return { type: 'file', mediaType, data: file.base64 } satisfies FilePart;
}

function fileIn(payload: JsonValue): { readonly mediaType: string; readonly base64: string } | undefined {
  const { mediaType, base64 } = (typeof payload === 'object' && payload !== null ? payload : {}) as Record<
    string,
    unknown
  >;
  return typeof mediaType === 'string' && typeof base64 === 'string' ? { mediaType, base64 } : undefined;
}
