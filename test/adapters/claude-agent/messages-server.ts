import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request of the Claude Agent SDK to the Messages API. */
export interface MessagesRequest {
  readonly model: string;
  readonly system?: unknown;
  readonly messages: readonly { readonly role: string; readonly content: string | readonly Block[] }[];
  readonly tools?: readonly { readonly name: string }[];
}

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly content?: unknown;
  readonly is_error?: boolean;
}

/** The model's answer: a text, or calls of tools; undefined for none at all. */
export type MessagesTurn = string | undefined | { readonly calls: readonly (readonly [name: string, input: object])[] };

/** A local server with the Messages API, as far as the SDK uses it. */
export class MessagesServer {
  readonly requests: MessagesRequest[] = [];
  private readonly server = createServer();
  private calls = 0;

  constructor(private readonly script: (request: MessagesRequest) => MessagesTurn) {
    this.server.on('request', async (request, response) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      if (!request.url?.startsWith('/v1/messages') || request.url.includes('count_tokens')) {
        response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
        return;
      }
      const message = JSON.parse(body) as MessagesRequest;
      this.requests.push(message);
      const turn = this.script(message);
      if (turn !== undefined) this.stream(response, turn);
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private stream(response: ServerResponse, turn: NonNullable<MessagesTurn>): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (event: { type: string; [member: string]: unknown }) =>
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const usage = { input_tokens: 10, output_tokens: 5 };
    const message = {
      id: `msg_${++this.calls}`,
      type: 'message',
      role: 'assistant',
      model: 'claude-test',
      content: [],
    };
    send({ type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null, usage } });
    const blocks = typeof turn === 'string' ? [textBlock(turn)] : turn.calls.map((call) => this.toolBlock(call));
    for (const [index, { start, delta }] of blocks.entries()) {
      send({ type: 'content_block_start', index, content_block: start });
      send({ type: 'content_block_delta', index, delta });
      send({ type: 'content_block_stop', index });
    }
    const stop = typeof turn === 'string' ? 'end_turn' : 'tool_use';
    send({ type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 5 } });
    send({ type: 'message_stop' });
    response.end();
  }

  private toolBlock([name, input]: readonly [string, object]) {
    return {
      start: { type: 'tool_use', id: `toolu_${++this.calls}`, name, input: {} },
      delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
    };
  }
}

function textBlock(text: string) {
  return { start: { type: 'text', text: '' }, delta: { type: 'text_delta', text } };
}

/** The results of tools in the last message of a request, as the model reads them. */
export function resultsIn(request: MessagesRequest | undefined): { text: string; isError: boolean }[] {
  const content = request?.messages.at(-1)?.content ?? [];
  if (typeof content === 'string') return [];
  return content
    .filter(({ type }) => type === 'tool_result')
    .map(({ content: result, is_error: isError = false }) => ({
      text: typeof result === 'string' ? result : JSON.stringify(result),
      isError,
    }));
}
