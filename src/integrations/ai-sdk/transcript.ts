import type { ModelMessage } from 'ai';
import { type JsonObject, type JsonValue, KernelError, type ObjectHandle, type Syscalls } from '../../index.js';
import { refusalFrom } from './tool-error-value.js';

/** The kernel finds the transcript of a process by this name. */
const transcriptName = 'transcript';

/** Limits of the texts in a transcript: of each one, and of all together. */
const textMax = 4_000;
const textsMax = 150_000;

/**
 * What an agent was asked, said and got, as an object of its process: `{ messages: [{ role, text }] }`. It is written before the
 * model is asked and when it has answered, so that it is there whatever the end of the process is. It is for people: it is
 * not in the view of the process, and a refusal to store it does not fail the agent.
 */
export class Transcript {
  private object: ObjectHandle | undefined;
  /** Of the programs that the process had before, and of its earlier attempts. */
  private earlier: readonly JsonValue[] = [];
  private savedLength = 0;

  constructor(private readonly ctx: Syscalls) {}

  /** Stores the messages, unless there are no more than were stored last. */
  async save(messages: readonly ModelMessage[]): Promise<void> {
    if (messages.length > this.savedLength) await this.saveAll(messages);
  }

  async saveAll(messages: readonly ModelMessage[]): Promise<void> {
    try {
      await this.write(messages);
      this.savedLength = messages.length;
    } catch (error) {
      refusalFrom(this.ctx, error);
    }
  }

  /** Creates the object, or goes on with the one that an earlier program of the process has left. */
  async begin(messages: readonly ModelMessage[]): Promise<void> {
    try {
      await this.create(messages);
      this.savedLength = messages.length;
    } catch (error) {
      if (refusalFrom(this.ctx, error).code === 'CONFLICT') await this.continueEarlier(messages);
    }
  }

  private async create(messages: readonly ModelMessage[]): Promise<void> {
    const { memory, goal } = this.ctx;
    this.object = await memory.create({
      type: 'message',
      name: transcriptName,
      title: transcriptName,
      payload: this.payloadOf(messages),
      sources: [goal],
      immutable: false,
      inView: false,
    });
  }

  private async continueEarlier(messages: readonly ModelMessage[]): Promise<void> {
    try {
      const { messages: earlier } = await this.open();
      this.earlier = newestOf(earlier);
    } catch (error) {
      refusalFrom(this.ctx, error);
    }
    await this.saveAll(messages);
  }

  private async write(messages: readonly ModelMessage[]): Promise<void> {
    const { memory } = this.ctx;
    if (this.object === undefined) {
      try {
        const { messages: stored, earlier } = await this.open();
        this.earlier = stored.slice(0, earlier);
      } catch (error) {
        if (!(error instanceof KernelError) || error.code !== 'NO_SUCH_OBJECT') throw error;
        return this.create(messages);
      }
    }
    if (this.object !== undefined) await memory.update(this.object, this.payloadOf(messages), { history: false });
  }

  /** Finds the object again, of an earlier run or program. Throws NO_SUCH_OBJECT. */
  private async open(): Promise<{ messages: readonly JsonValue[]; earlier: number }> {
    const { memory } = this.ctx;
    const found = await memory.lookup(transcriptName);
    const { payload } = await memory.read(found);
    this.object = found;
    const { messages, earlier } = (payload ?? {}) as { messages?: JsonValue; earlier?: JsonValue };
    return { messages: Array.isArray(messages) ? messages : [], earlier: Number(earlier ?? 0) };
  }

  private payloadOf(messages: readonly ModelMessage[]): JsonObject {
    const earlier = this.earlier.length === 0 ? {} : { earlier: this.earlier.length };
    const { kept, omitted } = shortenMessages(messages);
    return { messages: [...this.earlier, ...kept], ...earlier, ...(omitted === 0 ? {} : { omitted }) };
  }
}

/** The first message and the newest ones, each cut, as far as there is room; `omitted` were between them. */
function shortenMessages(messages: readonly ModelMessage[]): { kept: JsonObject[]; omitted: number } {
  const [first, ...rest] = messages.map(({ role, content }) => ({ role, text: textOf(content) }));
  if (first === undefined) return { kept: [], omitted: 0 };
  let left = textsMax - first.text.length;
  const newest: JsonObject[] = [];
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

function textOf(content: ModelMessage['content']): string {
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
