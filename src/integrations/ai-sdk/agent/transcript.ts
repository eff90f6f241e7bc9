import type { ModelMessage } from 'ai';
import { type JsonObject, type JsonValue, KernelError, type ObjectHandle, type Syscalls } from '../../../index.js';
import { refusalFrom } from '../../shared/tool-error-value.js';

/** The kernel finds the transcript of a process by this name. */
export const transcriptName = 'transcript';

/** Limits of the texts in a transcript: of each one, and of all together. */
const textMax = 4_000;
const textsMax = 150_000;

type Entry = { readonly role: string; readonly text: string };

/** Something that the model was not given any more, from some turn on. */
export type LeftOut = {
  /** The turn before which it was left out. */
  readonly turn: number;
  readonly reason: 'dropped result' | 'dropped turn' | 'summarized' | 'compacted';
  /** The role of the message, and its beginning. */
  readonly role: string;
  readonly text: string;
  readonly tokens: number;
};

/**
 * What an agent was asked, said and got, as an object of its process: `{ messages: [{ role, text }] }`, and `manifest` with what
 * the model was not given any more. It is written before the model is asked and when it has answered, so that it is there
 * whatever the end of the process is. It is for people: it is not in the view of the process, and a refusal to store it does
 * not fail the agent.
 */
export class Transcript {
  private object: ObjectHandle | undefined;
  /** Of the programs that the process had before, and of its earlier attempts. */
  private earlier: readonly JsonValue[] = [];
  private readonly entries: Entry[] = [];
  private readonly manifest: LeftOut[] = [];
  private isChanged = false;

  constructor(private readonly ctx: Syscalls) {}

  add(...messages: readonly ModelMessage[]): void {
    for (const { role, content } of messages) this.entries.push({ role, text: textOf(content) });
    this.isChanged = true;
  }

  leaveOut(left: readonly LeftOut[]): void {
    this.manifest.push(...left);
    this.isChanged = true;
  }

  /** Stores what is new. */
  async save(): Promise<void> {
    if (!this.isChanged) return;
    try {
      await this.write();
      this.isChanged = false;
    } catch (error) {
      refusalFrom(this.ctx, error);
    }
  }

  private async write(): Promise<void> {
    const { memory, goal } = this.ctx;
    if (this.object === undefined) {
      try {
        this.object = await memory.create({
          type: 'message',
          name: transcriptName,
          title: transcriptName,
          payload: this.payload(),
          sources: [goal],
          immutable: false,
          inView: false,
        });
        return;
      } catch (error) {
        if (!(error instanceof KernelError) || error.code !== 'CONFLICT') throw error;
        await this.continueEarlier();
      }
    }
    if (this.object !== undefined) await memory.update(this.object, this.payload(), { history: false });
  }

  /** Goes on with the object that an earlier program or attempt of the process has left. */
  private async continueEarlier(): Promise<void> {
    const { memory } = this.ctx;
    const found = await memory.lookup(transcriptName);
    // A step: a rerun would read what this run has written.
    const earlier = await this.ctx.step('earlier transcript', async () =>
      messagesIn((await memory.read(found)).payload),
    );
    this.earlier = newestOf(earlier);
    this.object = found;
  }

  private payload(): JsonObject {
    const earlier = this.earlier.length === 0 ? {} : { earlier: this.earlier.length };
    const { kept, omitted } = shorten(this.entries);
    const manifest = this.manifest.length === 0 ? {} : { manifest: this.manifest.slice(-manifestMax) };
    return { messages: [...this.earlier, ...kept], ...earlier, ...(omitted === 0 ? {} : { omitted }), ...manifest };
  }
}
const manifestMax = 200;

/** The messages in the payload of a transcript. */
export function messagesIn(payload: JsonValue): JsonValue[] {
  const { messages } = (payload ?? {}) as { messages?: JsonValue };
  return Array.isArray(messages) ? [...messages] : [];
}

/** The first message and the newest ones, as far as there is room; `omitted` were between them. */
function shorten(entries: readonly Entry[]): { kept: Entry[]; omitted: number } {
  const [first, ...rest] = entries;
  if (first === undefined) return { kept: [], omitted: 0 };
  let left = textsMax - first.text.length;
  const newest: Entry[] = [];
  for (const message of rest.reverse()) {
    left -= message.text.length;
    if (left < 0) break;
    newest.unshift(message);
  }
  return { kept: [first, ...newest], omitted: rest.length - newest.length };
}

/** The newest messages that an earlier program has left, as far as there is room. */
function newestOf(messages: readonly JsonValue[]): readonly JsonValue[] {
  let from = messages.length;
  for (let left = textsMax; from > 0; from--) {
    left -= JSON.stringify(messages[from - 1]).length;
    if (left < 0) break;
  }
  return messages.slice(from);
}

/** The text of a message, cut after 4,000 characters. */
export function textOf(content: ModelMessage['content']): string {
  const text = typeof content === 'string' ? content : content.map(textOfPart).join('\n');
  return text.length <= textMax ? text : `${text.slice(0, textMax)}…`.toWellFormed();
}

type Part = Exclude<ModelMessage['content'], string>[number];

function textOfPart(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text;
    case 'tool-call':
      return `${part.toolName}(${JSON.stringify(part.input)})`;
    case 'tool-result':
      return `${part.toolName}: ${JSON.stringify('value' in part.output ? part.output.value : part.output)}`;
    default:
      return JSON.stringify(part);
  }
}
