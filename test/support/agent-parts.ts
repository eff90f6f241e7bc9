import type { AgentPart, Kernel, Pid } from '../../src/index.js';

export const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5 };

/** Collects the parts of a stream while it is read. */
export class PartReader {
  readonly parts: AgentPart[] = [];
  /** Resolves when the stream is over. */
  readonly done: Promise<void>;

  constructor(kernel: Kernel, pid: Pid, options?: { signal?: AbortSignal }) {
    this.done = this.read(kernel.agents.stream(pid, options));
  }

  /** The types, with the text of those that have one. */
  get told(): string[] {
    return this.parts.map(tell);
  }

  /** The text that was said in a turn since it began the last time. */
  textOf(turn: number): string {
    let text = '';
    for (const part of this.parts) {
      if (part.turn !== turn) continue;
      if (part.type === 'turn-start') text = '';
      if (part.type === 'text') text += part.text;
    }
    return text;
  }

  private async read(stream: AsyncIterable<AgentPart>): Promise<void> {
    for await (const part of stream) this.parts.push(part);
  }
}

/** All parts up to the end of the process. */
export async function readAll(kernel: Kernel, pid: Pid): Promise<string[]> {
  const reader = new PartReader(kernel, pid);
  await reader.done;
  return reader.told;
}

function tell(part: AgentPart): string {
  const what = `${part.turn} ${part.type}`;
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return `${what} ${part.text}`;
    case 'tool-call':
    case 'tool-result':
      return `${what} ${part.id}`;
    case 'question':
      return `${what} ${part.question}`;
    case 'end':
      return `${what} ${part.outcome.kind}`;
    default:
      return what;
  }
}
