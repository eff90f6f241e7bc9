import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import type { ChatResult } from '@langchain/core/outputs';
import { askChatServer } from './chat-client.js';
import type { ChatRequest } from './chat-server.js';

const roles: Readonly<Record<string, ChatRequest['messages'][number]['role']>> = {
  system: 'system',
  human: 'user',
  ai: 'assistant',
  tool: 'tool',
};

/** A chat model of LangChain that asks a `ChatServer`. */
export class ServerChatModel extends BaseChatModel {
  readonly model = 'small';

  constructor(private readonly baseURL: string) {
    super({ maxRetries: 0 });
  }

  override _llmType(): string {
    return 'server';
  }

  /** The server knows the tools. */
  override bindTools() {
    return this.withConfig({});
  }

  override async _generate(messages: BaseMessage[], { signal }: this['ParsedCallOptions']): Promise<ChatResult> {
    const sent = messages.map((message) => ({ role: roles[message.type] ?? 'user', content: message.text }));
    const { text, calls, inputTokens, outputTokens } = await askChatServer(this.baseURL, sent, signal);
    const tool_calls = calls.map(({ id, name, args }) => ({ id, name, args: JSON.parse(args) }));
    const tokens = { input_tokens: inputTokens, output_tokens: outputTokens };
    // The types of the constructor do not know of usage.
    const usage: object = { usage_metadata: { ...tokens, total_tokens: inputTokens + outputTokens } };
    const message = new AIMessage({ content: text, tool_calls, ...usage });
    return { generations: [{ text, message }] };
  }
}
