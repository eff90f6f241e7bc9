import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { AgentModel } from '../../../src/integrations/ai-sdk/index.js';

interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string | null;
}

/** A request to the server. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  /** Whether the answer is to come as a stream of events. */
  readonly stream?: boolean;
  readonly max_tokens?: number;
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** The server's answer: a turn of the assistant, or an error. */
export type ChatReply =
  | { readonly text?: string; readonly calls?: readonly (readonly [name: string, input: object])[] }
  | { readonly status: number; readonly message: string; readonly headers?: Readonly<Record<string, string>> };

/** A local server with OpenAI's chat protocol. */
export class ChatServer {
  readonly requests: ChatRequest[] = [];
  /** Requests whose client went away before they were answered. */
  abandoned = 0;
  private readonly server = createServer();
  private calls = 0;

  constructor(private readonly script: (request: ChatRequest) => ChatReply | Promise<ChatReply>) {
    this.server.on('request', async (request, response) => {
      response.on('close', () => {
        if (!response.writableFinished) this.abandoned++;
      });
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const chatRequest = JSON.parse(body) as ChatRequest;
      this.requests.push(chatRequest);
      this.reply(response, await this.answerTo(chatRequest), chatRequest.stream === true);
    });
  }

  /** Returns the base URL for models. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** A script that fails is an answer too: nobody is to wait for it. */
  private async answerTo(request: ChatRequest): Promise<ChatReply> {
    try {
      return await this.script(request);
    } catch (error) {
      return { status: 400, message: `the script has failed: ${String(error)}` };
    }
  }

  private reply(response: ServerResponse, reply: ChatReply, asStream: boolean): void {
    if (response.destroyed) return;
    const headers = { 'x-secret': 'of the server', ...('status' in reply ? reply.headers : {}) };
    const [status, body] = 'status' in reply ? [reply.status, { error: reply }] : [200, this.completion(reply)];
    if (asStream && !('status' in reply)) {
      this.replyAsStream(response, this.completion(reply));
      return;
    }
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  }

  /** The text word by word, then the calls, the end and the usage. */
  private replyAsStream(
    response: ServerResponse,
    { choices, usage, ...rest }: ReturnType<ChatServer['completion']>,
  ): void {
    const [{ message, finish_reason }] = choices;
    const words = message.content.match(/\s*\S+\s*/g) ?? [];
    const calls = (message.tool_calls ?? []).map((call, index) => ({ index, ...call }));
    const deltas = [
      ...words.map((content) => ({ delta: { role: 'assistant', content }, finish_reason: null })),
      ...(calls.length === 0 ? [] : [{ delta: { tool_calls: calls }, finish_reason: null }]),
      { delta: {}, finish_reason },
    ];
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-secret': 'of the server' });
    for (const choice of deltas) {
      const chunk = { ...rest, object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }] };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }
    response.end(`data: ${JSON.stringify({ ...rest, choices: [], usage })}\n\ndata: [DONE]\n\n`);
  }

  private completion({ text = '', calls = [] }: Exclude<ChatReply, { status: number }>) {
    const tool_calls = calls.map(([name, input]) => ({
      id: `call_${++this.calls}`,
      type: 'function',
      function: { name, arguments: JSON.stringify(input) },
    }));
    return {
      id: 'chat',
      object: 'chat.completion',
      created: 0,
      model: 'small',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: text, ...(calls.length === 0 ? {} : { tool_calls }) },
          finish_reason: calls.length === 0 ? 'stop' : 'tool_calls',
        },
      ] as const,
      usage: { prompt_tokens: 40, completion_tokens: 2, total_tokens: 42, prompt_tokens_details: { cached_tokens: 8 } },
    };
  }
}

/** The model `model:local/small` of the server at `baseURL`. */
export function chatModel(baseURL: string): AgentModel {
  return createOpenAICompatible({ name: 'local', baseURL, apiKey: secretKey })('small');
}
export const secretKey = 'sk-very-secret-0123456789';
