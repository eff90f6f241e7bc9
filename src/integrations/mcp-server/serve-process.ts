import type { CallToolRequestParams, CallToolResult, McpServer, Transport } from '@modelcontextprotocol/server';
import type { StdioServerHandle } from '@modelcontextprotocol/server/stdio';
import { packageVersion } from '../../base/package/package-version.js';
import { KernelError, limitPauses, type ProcessFace, ToolError } from '../../index.js';
import { AnsweringTransport } from './answering-transport.js';
import { isStillPaused, toAnswer, toPausedAnswer, toRefusal } from './answers.js';
import { capabilityTools } from './capability-tools.js';
import { kernelTools, offeredAsCalls } from './kernel-tools.js';
import type { McpTool } from './mcp-tool.js';
import { memoryTools } from './memory-tools.js';
import { messageTools } from './message-tools.js';
import { processTools } from './process-tools.js';
import { loadServerPackage, type ServerPackage } from './server-package.js';

export interface ServeOptions {
  /** Carries the messages; absent: lines on standard input and output, which nothing else may write to then. */
  readonly transport?: Transport;
  /** Aborts when the process has ended: what was asked is answered, then the connection is closed. */
  readonly signal?: AbortSignal;
  /** More to tell the client at the beginning, such as what the goal is. */
  readonly instructions?: string;
  /** The longest time that a call waits for a paused process before the answer says that it is paused; default 50,000. */
  readonly pausedMs?: number;
  /** Told what went wrong with the connection itself. */
  readonly onError?: (error: Error) => void;
}

/** A process that an MCP client is connected to. */
export interface ServedProcess {
  /**
   * Resolves when the connection is closed, by whichever side, and nothing that it began is under way any more. Rejects with
   * MISSING_PACKAGE where `@modelcontextprotocol/server` is not installed.
   */
  readonly closed: Promise<void>;
  /** Gives up what is under way, answers it, and closes. The process itself lives on. */
  close(): Promise<void>;
}

/** The time that calls have to end by themselves before they are given up. */
const graceMs = 2_000;
/** Many clients give a call up after 60 s: the answer that the process is paused comes before that. */
const pausedMsDefault = 50_000;

/**
 * Gives an MCP client the face of one process: what the process may do, and nothing else. The process does not end with the
 * connection; the call `exit` ends it, and the connection with it. `closed` and `close` throw MISSING_PACKAGE.
 *
 * @example
 * const served = serveProcess(kernel.as(pid));
 * await served.closed;
 */
export function serveProcess(face: ProcessFace, options: ServeOptions = {}): ServedProcess {
  return new ProcessServer(face, options);
}

/** The tool that offers each member of the face to clients; null for those that are not offered. */
const offeredAs: Readonly<Record<keyof ProcessFace, string | null>> = {
  spawnChild: 'spawn',
  wait: 'wait',
  value: 'wait',
  waitAny: 'wait',
  waitAll: null,
  children: 'list_children',
  pause: 'signal',
  resume: 'signal',
  cancel: 'signal',
  kill: 'signal',
  send: 'send',
  receive: 'receive',
  ask: 'tool_human_ask',
  exit: 'exit',
  memory: 'memory_read',
  capabilities: 'capabilities',
  // Offered as the tools of the kernel, which are decided on, counted and on record.
  tools: 'tool_NAME',
  run: 'tool_command_run',
  // Programs, budgets and folders are the host's and the image's to decide on.
  parent: null,
  get: null,
  signal: null,
  call: null,
  fork: 'tool_process_fork',
  exec: null,
  chdir: null,
  charge: null,
  reserve: null,
  settle: null,
  budget: null,
  readOutput: 'tool_command_output',
  waitOutput: null,
  pid: null,
};

interface Connection {
  readonly transport: AnsweringTransport;
  readonly handle: StdioServerHandle;
}

class ProcessServer implements ServedProcess {
  readonly closed: Promise<void>;
  private readonly opening: Promise<Connection>;
  private readonly abandoned = new AbortController();
  private readonly calls = new Set<Promise<unknown>>();
  private readonly own: readonly McpTool[];

  private readonly face: ProcessFace;

  constructor(
    unlimited: ProcessFace,
    private readonly options: ServeOptions,
  ) {
    const face = limitPauses(unlimited, options.pausedMs ?? pausedMsDefault);
    this.face = face;
    // That it could not be opened is told by `closed`.
    const finish = () => void this.finish().catch(() => undefined);
    this.own = [...processTools(face, finish), ...messageTools(face), ...memoryTools(face), ...capabilityTools(face)];
    this.opening = this.open();
    this.closed = this.opening.then(async ({ transport }) => {
      await transport.closed;
      await this.endCalls();
    });
    options.signal?.addEventListener('abort', finish, { once: true });
    if (options.signal?.aborted === true) finish();
    const ignoreSignal = () => options.signal?.removeEventListener('abort', finish);
    void this.closed.then(ignoreSignal, ignoreSignal);
  }

  async close(): Promise<void> {
    this.abandoned.abort();
    const { transport, handle } = await this.opening;
    await transport.untilAnswered(graceMs);
    await handle.close();
    await this.closed;
  }

  /** The kernel itself refuses the calls of a process that has ended; what does not heed that is given up. */
  private async finish(): Promise<void> {
    const { transport } = await this.opening;
    await transport.untilAnswered(graceMs);
    await this.close();
  }

  private async endCalls(): Promise<void> {
    this.abandoned.abort();
    await Promise.allSettled(this.calls);
  }

  private async open(): Promise<Connection> {
    const { transport: wire, onError } = this.options;
    const sdk = await loadServerPackage();
    const transport = new AnsweringTransport(sdk, wire ?? new sdk.StdioServerTransport());
    const onerror = onError === undefined ? {} : { onerror: onError };
    return { transport, handle: sdk.serveStdio(() => this.server(sdk), { transport, ...onerror }) };
  }

  private server(sdk: ServerPackage): McpServer {
    const mcp = new sdk.McpServer(
      { name: 'procura', version: packageVersion },
      { capabilities: { tools: { listChanged: false } }, instructions: this.instructions() },
    );
    mcp.server.setRequestHandler('tools/list', async () => ({
      tools: (await this.listTools()).map(({ tool }) => tool),
    }));
    mcp.server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => {
      const call = this.call(params, AbortSignal.any([mcpReq.signal, this.abandoned.signal]));
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
      const offers = this.own.some(({ tool }) => tool.name === name) ? this.own : await kernelTools(this.face);
      const offer = offers.find(({ tool }) => tool.name === name);
      if (offer === undefined) throw noSuchTool(name, [...this.own, ...offers]);
      return toAnswer(await offer.call(args, signal));
    } catch (error) {
      if (isStillPaused(error)) return toPausedAnswer(name);
      if (!(error instanceof KernelError))
        this.options.onError?.(error instanceof Error ? error : new Error(String(error)));
      return toRefusal(error);
    }
  }

  /** A process that has ended, which the calls say themselves, sees no tools. */
  private async listTools(): Promise<readonly McpTool[]> {
    try {
      return [...this.own, ...(await kernelTools(this.face))];
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
  const twin = Object.entries(offeredAsCalls).find(([tool]) => name === `tool_${tool.replace('.', '_')}`)?.[1];
  const other = twin ?? (Object.hasOwn(offeredAs, name) ? offeredAs[name as keyof ProcessFace] : null);
  return new ToolError('NO_SUCH_TOOL', `There is no call ${JSON.stringify(name.slice(0, 200))}.`, {
    facts: { tool: name.slice(0, 200), known: known.map(({ tool }) => tool.name).slice(0, 100) },
    hint: other === null ? 'Use one of those that are listed.' : `Use ${other}.`,
  });
}
