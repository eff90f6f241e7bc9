import { defineImage, type Image, type JsonValue, type Syscalls } from '../../../src/index.js';
import {
  type AnthropicMessage,
  anthropicTools,
  durableTurn,
  type OpenAICompletion,
  type OpenAIResponse,
  openaiTools,
} from '../../../src/integrations/tools/index.js';
import type { ProviderServer } from './provider-server.js';

/** The APIs that a loop can speak. */
export const apis = ['anthropic', 'openai-chat', 'openai-responses'] as const;
export type Api = (typeof apis)[number];

/** An image whose body is a loop as one writes it with the SDK of a provider. Its result is the last answer. */
export function loopImage(api: Api, server: ProviderServer): Image<JsonValue, string> {
  return defineImage({ name: 'loop', run: (ctx) => loops[api](ctx, server) });
}

const loops: Record<Api, (ctx: Syscalls, server: ProviderServer) => Promise<string>> = {
  anthropic: async (ctx, server) => {
    const tools = await anthropicTools(ctx);
    const messages: object[] = [{ role: 'user', content: 'Begin.' }];
    for (;;) {
      const request = { model: 'small', max_tokens: 64, messages, tools };
      const message = await durableTurn(ctx, {
        model: 'local/small',
        input: request,
        outputTokens: 64,
        ask: ({ signal }) => server.post<AnthropicMessage>('/v1/messages', request, signal),
      });
      messages.push({ role: 'assistant', content: message.content });
      const content = await tools.results(message);
      if (content.length === 0) return String((message.content[0] as { text?: string }).text);
      messages.push({ role: 'user', content });
    }
  },
  'openai-chat': async (ctx, server) => {
    const tools = await openaiTools(ctx);
    const messages: object[] = [{ role: 'user', content: 'Begin.' }];
    for (;;) {
      const request = { model: 'small', messages, tools };
      const completion = await durableTurn(ctx, {
        model: 'local/small',
        input: request,
        ask: ({ signal }) => server.post<OpenAICompletion>('/v1/chat/completions', request, signal),
      });
      const message = completion.choices[0]?.message as { content?: string };
      messages.push(message);
      const results = await tools.results(completion);
      if (results.length === 0) return String(message.content);
      messages.push(...results);
    }
  },
  'openai-responses': async (ctx, server) => {
    const tools = await openaiTools(ctx, { api: 'responses' });
    const input: object[] = [{ role: 'user', content: 'Begin.' }];
    for (;;) {
      const request = { model: 'small', input, tools };
      const response = await durableTurn(ctx, {
        model: 'local/small',
        input: request,
        ask: ({ signal }) => server.post<OpenAIResponse>('/v1/responses', request, signal),
      });
      input.push(...response.output);
      const results = await tools.results(response);
      if (results.length === 0) return String((response as { output_text?: string }).output_text);
      input.push(...results);
    }
  },
};

/** A turn of the model: a text, or calls with their arguments. */
export type LoopTurn =
  | string
  | { readonly calls: readonly (readonly [name: string, args: object | string])[]; readonly cutOff?: boolean };

/** The turn as the API answers with it, with 40 tokens of input and 2 of output. */
export function answerOf(api: Api, turn: LoopTurn, number: number): object {
  const text = typeof turn === 'string' ? turn : '';
  const { calls, cutOff = false } = typeof turn === 'string' ? { calls: [] } : turn;
  const requested = calls.map(([name, args], index) => ({ id: `call_${number}_${index}`, name, args }));
  switch (api) {
    case 'anthropic':
      return {
        role: 'assistant',
        content: [
          ...(text === '' ? [] : [{ type: 'text', text }]),
          ...requested.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })),
        ],
        stop_reason: cutOff ? 'max_tokens' : requested.length === 0 ? 'end_turn' : 'tool_use',
        usage: { input_tokens: 32, output_tokens: 2, cache_read_input_tokens: 8, cache_creation_input_tokens: 0 },
      };
    case 'openai-chat':
      return {
        choices: [
          {
            message: {
              role: 'assistant',
              content: text,
              tool_calls: requested.map(({ id, name, args }) => ({
                id,
                type: 'function',
                function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
              })),
            },
            finish_reason: cutOff ? 'length' : requested.length === 0 ? 'stop' : 'tool_calls',
          },
        ],
        usage: {
          prompt_tokens: 40,
          completion_tokens: 2,
          total_tokens: 42,
          prompt_tokens_details: { cached_tokens: 8 },
        },
      };
    case 'openai-responses':
      return {
        status: cutOff ? 'incomplete' : 'completed',
        output_text: text,
        output: [
          ...(text === '' ? [] : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }]),
          ...requested.map(({ id, name, args }) => ({
            type: 'function_call',
            call_id: id,
            name,
            arguments: typeof args === 'string' ? args : JSON.stringify(args),
          })),
        ],
        usage: { input_tokens: 40, output_tokens: 2, total_tokens: 42, input_tokens_details: { cached_tokens: 8 } },
      };
  }
}
