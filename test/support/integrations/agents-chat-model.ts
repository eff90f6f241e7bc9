import { type AgentInputItem, type Model, type ModelRequest, type ModelResponse, Usage } from '@openai/agents-core';
import { assistantMessage, functionCall } from '@openai/agents-core/testing';
import { askChatServer } from './chat-client.js';
import type { ChatRequest } from './chat-server.js';

type Message = ChatRequest['messages'][number];

/** A model of the OpenAI Agents SDK that asks a `ChatServer`. */
export class ServerModel implements Model {
  readonly name = 'small';

  constructor(private readonly baseURL: string) {}

  async getResponse({ input, signal }: ModelRequest): Promise<ModelResponse> {
    const { text, calls, inputTokens, outputTokens } = await askChatServer(this.baseURL, toMessages(input), signal);
    const output = [
      ...(text === '' ? [] : [assistantMessage(text)]),
      ...calls.map(({ id, name, args }) => functionCall(name, JSON.parse(args), { callId: id })),
    ];
    return {
      output,
      usage: new Usage({ requests: 1, inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }),
    };
  }

  getStreamedResponse(): never {
    throw new Error('this model does not stream');
  }
}

/** The items of one turn, a text and calls, are one message of the assistant. */
function toMessages(input: ModelRequest['input']): Message[] {
  const items: AgentInputItem[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  const messages: Message[] = [];
  for (const message of items.map(toMessage)) {
    const last = messages.at(-1);
    if (last?.role === 'assistant' && message.role === 'assistant')
      messages[messages.length - 1] = { ...last, content: `${last.content ?? ''}${message.content ?? ''}` };
    else messages.push(message);
  }
  return messages;
}

function toMessage(item: AgentInputItem): Message {
  if (item.type === 'function_call') return { role: 'assistant', content: '' };
  if (item.type === 'function_call_result') {
    const { output } = item;
    return {
      role: 'tool',
      content: JSON.stringify(typeof output === 'object' && 'text' in output ? output.text : output),
    };
  }
  const { role, content } = item as { role: 'user' | 'assistant'; content: unknown };
  return { role, content: typeof content === 'string' ? content : textIn(content) };
}

function textIn(content: unknown): string {
  const parts = Array.isArray(content) ? (content as readonly { text?: string }[]) : [];
  return parts.map(({ text = '' }) => text).join('');
}
