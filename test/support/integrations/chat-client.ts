import type { ChatRequest } from './chat-server.js';

/** A turn that the server has answered with. */
export interface ChatAnswer {
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: string }[];
  readonly inputTokens: number;
  readonly outputTokens: number;
}

interface Completion {
  readonly choices: readonly [
    {
      readonly message: {
        readonly content: string;
        readonly tool_calls?: readonly {
          readonly id: string;
          readonly function: { readonly name: string; readonly arguments: string };
        }[];
      };
    },
  ];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

/** Asks a `ChatServer`, for models of SDKs that have none for its protocol. */
export async function askChatServer(
  baseURL: string,
  messages: ChatRequest['messages'],
  signal: AbortSignal | undefined,
): Promise<ChatAnswer> {
  const body = JSON.stringify({ model: 'small', messages });
  const init = { method: 'POST', body, ...(signal === undefined ? {} : { signal }) };
  const response = await fetch(`${baseURL}/chat/completions`, init);
  const { choices, usage } = (await response.json()) as Completion;
  const [{ message }] = choices;
  return {
    text: message.content,
    calls: (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({ id, name, args })),
    inputTokens: usage.prompt_tokens,
    outputTokens: usage.completion_tokens,
  };
}
