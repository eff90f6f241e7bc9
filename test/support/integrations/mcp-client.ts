import { type CallToolResult, Client, type RequestOptions } from '@modelcontextprotocol/client';

/** What a call has answered: its JSON, or the lines of its refusal. */
export interface Answer {
  readonly isError: boolean;
  readonly text: string;
  readonly value: Record<string, unknown>;
}

export function newClient(): Client {
  return new Client({ name: 'test', version: '1.0.0' });
}

/** Calls through a client, as an agent does. */
export async function ask(client: Client, name: string, args: object = {}, options?: RequestOptions): Promise<Answer> {
  const result = (await client.callTool({ name, arguments: { ...args } }, options)) as CallToolResult;
  const [content] = result.content;
  if (content?.type !== 'text') throw new Error(`no text in ${JSON.stringify(result)}`);
  const value = (result.structuredContent ?? {}) as Record<string, unknown>;
  return { isError: result.isError === true, text: content.text, value };
}

/** The code and facts of a refusal; fails when the call was not refused, or not in words. */
export async function refusedCall(client: Client, name: string, args: object = {}): Promise<Refused> {
  const { isError, text, value } = await ask(client, name, args);
  const { error } = value as { error?: Refused };
  if (!isError || error === undefined) throw new Error(`not refused: ${text}`);
  if (!text.startsWith(`${error.code}: `) || !text.includes('\nhint: ')) throw new Error(`not readable: ${text}`);
  if (/\n\s+at /.test(text)) throw new Error(`a stack trace: ${text}`);
  return { code: error.code, facts: error.facts, text };
}

export interface Refused {
  readonly code: string;
  readonly facts: Record<string, unknown>;
  readonly text: string;
}
