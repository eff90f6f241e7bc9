import { readFileSync } from 'node:fs';
import {
  type CallToolRequestParams,
  type CallToolResult,
  McpServer,
  type Transport,
} from '@modelcontextprotocol/server';
import { type StdioServerHandle, StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { KernelError, type ProcessFace, ToolError } from '../../index.js';
import { AnsweringTransport } from './answering-transport.js';
import { answer, refusal } from './answers.js';
import { capabilityOffers } from './capability-offers.js';
import { memoryOffers } from './memory-offers.js';
import { messageOffers } from './message-offers.js';
import type { McpTool } from './offer.js';
import { processOffers } from './process-offers.js';
import { toolOffers } from './tool-offers.js';

export interface ServeOptions {
  /** How messages come and go; absent: lines on standard input and output, which nobody else may write to then. */
  readonly transport?: Transport;
  /** Aborts when the process has ended: what was asked is answered, then the connection is closed. */
  readonly signal?: AbortSignal;
  /** More to tell the client at the beginning, such as what the goal is. */
  readonly instructions?: string;
  /** Told what went wrong with the connection itself. */
  readonly onError?: (error: Error) => void;
}

/** A process that a client is connected to. */
export interface ServedProcess {
  /** Resolves when the connection is closed, by whichever side, and nothing that it began is under way any more. */
  readonly closed: Promise<void>;
  /** Gives up what is under way, answers it, and closes. The process itself lives on. */
  close(): Promise<void>;
}

/** How long calls have to come to their end by themselves. */
const graceMs = 2_000;

/**
 * Gives an MCP client the face of one process: what the process may do, and nothing else. The process does not end with the
 * connection; the call `exit` ends it, and the connection with it.
 *
 * @example
 * const served = serveProcess(kernel.as(pid));
 * await served.closed;
 */
export function serveProcess(face: ProcessFace, options: ServeOptions = {}): ServedProcess {
  return new ProcessServer(face, options);
}

class ProcessServer implements ServedProcess {
  readonly closed: Promise<void>;
  private readonly transport: AnsweringTransport;
  private readonly handle: StdioServerHandle;
  private readonly givenUp = new AbortController();
  private readonly calls = new Set<Promise<unknown>>();
  private readonly own: readonly McpTool[];

  constructor(
    private readonly face: ProcessFace,
    private readonly options: ServeOptions,
  ) {
    const finish = () => void this.finish();
    this.own = [
      ...processOffers(face, finish),
      ...messageOffers(face),
      ...memoryOffers(face),
      ...capabilityOffers(face),
    ];
    this.transport = new AnsweringTransport(options.transport ?? new StdioServerTransport());
    this.closed = this.transport.closed.then(() => this.over());
    const onerror = options.onError === undefined ? {} : { onerror: options.onError };
    this.handle = serveStdio(() => this.server(), { transport: this.transport, ...onerror });
    options.signal?.addEventListener('abort', finish, { once: true });
    if (options.signal?.aborted === true) finish();
  }

  async close(): Promise<void> {
    this.givenUp.abort();
    await this.transport.answered(graceMs);
    await this.handle.close();
    await this.closed;
  }

  /** The kernel itself refuses the calls of a process that has ended; what does not heed that is given up. */
  private async finish(): Promise<void> {
    await this.transport.answered(graceMs);
    await this.close();
  }

  private async over(): Promise<void> {
    this.givenUp.abort();
    await Promise.allSettled(this.calls);
  }

  private server(): McpServer {
    const mcp = new McpServer(
      { name: 'procura', version: packageVersion() },
      { capabilities: { tools: { listChanged: false } }, instructions: this.instructions() },
    );
    mcp.server.setRequestHandler('tools/list', async () => ({
      tools: (await this.offers()).map(({ tool }) => tool),
    }));
    mcp.server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => {
      const call = this.call(params, AbortSignal.any([mcpReq.signal, this.givenUp.signal]));
      this.calls.add(call);
      return call.finally(() => this.calls.delete(call));
    });
    return mcp;
  }

  /** Never throws: a refusal is an answer too. */
  private async call(
    { name, arguments: args = {} }: CallToolRequestParams,
    signal: AbortSignal,
  ): Promise<CallToolResult> {
    try {
      const offers = this.own.some(({ tool }) => tool.name === name) ? this.own : await toolOffers(this.face);
      const offer = offers.find(({ tool }) => tool.name === name);
      if (offer === undefined) throw noSuchTool(name, [...this.own, ...offers]);
      return answer(await offer.call(args, signal));
    } catch (error) {
      if (!(error instanceof KernelError))
        this.options.onError?.(error instanceof Error ? error : new Error(String(error)));
      return refusal(error);
    }
  }

  /** A process that has ended, which the calls say themselves, sees no tools. */
  private async offers(): Promise<readonly McpTool[]> {
    try {
      return [...this.own, ...(await toolOffers(this.face))];
    } catch (error) {
      if (error instanceof KernelError) return this.own;
      throw error;
    }
  }

  private instructions(): string {
    const { instructions } = this.options;
    return [
      `You act as process ${this.face.pid} of a Procura kernel, with what it may do and no more.`,
      'capabilities lists what you hold; a refusal says what is missing, explain says why, request_capability asks a person.',
      'Calls that begin with tool_ are the tools of the kernel: each is checked, counted in your budget and on record.',
      'Start children with spawn and wait for them; keep what is to last with memory_write.',
      'When the goal is reached, call exit with the result.',
      ...(instructions === undefined ? [] : [instructions]),
    ].join('\n');
  }
}

function noSuchTool(name: string, known: readonly McpTool[]): ToolError {
  return new ToolError('NO_SUCH_TOOL', `There is no call ${JSON.stringify(name.slice(0, 200))}.`, {
    facts: { tool: name.slice(0, 200), known: known.map(({ tool }) => tool.name).slice(0, 100) },
    hint: 'Use one of those that are listed.',
  });
}

function packageVersion(): string {
  const file = new URL('../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
