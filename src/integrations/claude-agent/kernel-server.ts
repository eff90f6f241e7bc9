import { packageVersion } from '../../base/package/package-version.js';
import { type JsonValue, KernelError, ToolError } from '../../index.js';
import { callAsValue } from '../shared/call-as-value.js';
import type { CallingFace } from '../shared/calling-face.js';
import { type OfferedTool, offeredTools, schemaOf } from '../shared/offered-tools.js';
import type { McpMessage, McpTransport } from './sdk-types.js';

/** Finds the face that makes a call, by the SDK's id of it. Throws for one that has none. */
export type CallerLookup = (toolUseId: string | undefined) => Promise<CallingFace>;

/**
 * An MCP server in this program with the tools of a process, as the SDK wants it: something to connect a transport to. It
 * answers what a client of tools asks, and nothing else of the protocol.
 */
export class KernelServer {
  private transport: McpTransport | undefined;
  private readonly calls = new Map<string | number, AbortController>();

  constructor(
    private readonly face: CallingFace,
    private readonly callerOf: CallerLookup,
  ) {}

  async connect(transport: McpTransport): Promise<void> {
    this.transport = transport;
    transport.onmessage = (message: McpMessage) => void this.receive(message, transport);
    transport.onclose = () => this.abortCalls();
    await transport.start();
  }

  async close(): Promise<void> {
    this.abortCalls();
    await this.transport?.close();
  }

  private async receive({ id, method, params = {} }: McpMessage, transport: McpTransport): Promise<void> {
    if (method === 'notifications/cancelled') this.calls.get(params.requestId as string)?.abort();
    if (id === undefined || method === undefined) return;
    const answer = await this.answer(id, method, params).then(
      (result) => ({ result }),
      (error: unknown) => ({ error: { code: codeOf(error), message: messageOf(error) } }),
    );
    const message: McpMessage = { jsonrpc: '2.0', id, ...answer };
    // The connection may be closed by now: then nobody waits for the answer.
    await transport.send(message as never).catch(() => undefined);
  }

  private async answer(id: string | number, method: string, params: Params): Promise<unknown> {
    switch (method) {
      case 'initialize':
        return {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'procura', version: packageVersion },
        };
      case 'ping':
        return {};
      case 'tools/list':
        return { tools: (await this.offered()).map(toMcpTool) };
      case 'tools/call':
        return this.call(id, params);
      default:
        throw new NoSuchMethod(`There is no method ${method}.`);
    }
  }

  private async call(id: string | number, params: Params): Promise<unknown> {
    const { name, arguments: args = {}, _meta: meta } = params as Params & CallParams;
    const controller = new AbortController();
    this.calls.set(id, controller);
    try {
      const face = await this.callerOf(meta?.[toolUseKey]);
      const { value, isError = false } = await callAsValue(face, () => this.run(face, name, args, controller.signal));
      return { content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }], isError };
    } finally {
      this.calls.delete(id);
    }
  }

  private async run(face: CallingFace, alias: string, args: JsonValue, signal: AbortSignal): Promise<JsonValue> {
    const tool = (await this.offered()).find((candidate) => candidate.alias === alias);
    if (tool === undefined) throw noSuchTool(alias);
    return face.tools.call(tool.info.name, isWrapped(tool) ? unwrap(args) : args, { signal });
  }

  private offered(): Promise<OfferedTool[]> {
    return offeredTools(this.face, { only: undefined, granted: false });
  }

  private abortCalls(): void {
    for (const controller of this.calls.values()) controller.abort();
  }
}

type Params = NonNullable<McpMessage['params']>;

interface CallParams {
  readonly name: string;
  readonly arguments?: JsonValue;
  readonly _meta?: { readonly [toolUseKey]?: string };
}

/** The key under which the SDK names its own id of a call. */
const toolUseKey = 'claudecode/toolUseId';

/** Arguments are an object in this protocol: any other becomes the property `input` of one. */
function isWrapped({ info }: OfferedTool): boolean {
  return typeof info.input.type === 'string' && info.input.type !== 'object';
}

function unwrap(args: JsonValue): JsonValue {
  return (args as { readonly input?: JsonValue }).input ?? null;
}

function toMcpTool(tool: OfferedTool): object {
  const { alias, info } = tool;
  const schema = schemaOf(info.input);
  return {
    name: alias,
    title: info.name,
    description: info.description,
    inputSchema: isWrapped(tool)
      ? { type: 'object', properties: { input: schema }, required: ['input'] }
      : { ...schema, type: 'object' },
    annotations: { readOnlyHint: info.effect === 'pure', idempotentHint: info.effect !== 'once' },
  };
}

class NoSuchMethod extends Error {}

function codeOf(error: unknown): number {
  return error instanceof NoSuchMethod ? -32_601 : -32_603;
}

function messageOf(error: unknown): string {
  return error instanceof KernelError || error instanceof NoSuchMethod ? error.message : 'The call failed.';
}

function noSuchTool(alias: string): ToolError {
  return new ToolError('NO_SUCH_TOOL', `There is no tool ${JSON.stringify(alias.slice(0, 200))}.`, {
    facts: { tool: alias.slice(0, 200) },
    hint: 'Use one of those that are listed.',
  });
}
