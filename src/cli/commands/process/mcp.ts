import type { Writable } from 'node:stream';
import { installCommand } from '../../../base/package/package-manager.js';
import type { Kernel, Pid, SpawnSpec } from '../../../index.js';
import { CliError } from '../../cli-error.js';
import { errorLogger, logger } from '../../logger.js';
import { type CommonOptions, withWritableStore } from '../../open-store.js';
import { findPid } from '../../pids.js';
import { connectServers, loadPrograms } from '../../programs.js';
import { takeStandardOutput } from '../../standard-output.js';

interface McpOptions extends CommonOptions {
  readonly pid?: string;
  readonly spawn?: SpawnSpec;
  readonly images?: string;
  readonly run?: boolean;
}

const goalCharsMax = 4_000;

/**
 * Serves the face of one process to an MCP client on standard input and output, until the client disconnects, the process
 * ends, or the command is stopped. The end of the command does not end the process.
 */
export async function mcp(options: McpOptions): Promise<void> {
  const output = takeStandardOutput();
  const server = await loadServerPackage();
  const programs = await loadPrograms(options.images);
  await withWritableStore(
    options,
    async (kernel) => (options.pid === undefined ? undefined : findPid(kernel, options.pid)),
    async (kernel, named) => {
      const pid = named ?? (await spawnProcess(kernel, options.spawn));
      await assertLive(kernel, pid);
      await connectServers(kernel, programs);
      if (options.run === true) await kernel.start();
      await serve(kernel, pid, server, output);
    },
    {
      images: programs.images,
      tools: programs.tools,
      logger: options.run === true ? logger : errorLogger,
      node: { name: 'procura-mcp', executor: options.run === true, start: false },
    },
  );
}

async function serve(kernel: Kernel, pid: Pid, server: ServerPackage, output: Writable): Promise<void> {
  const ended = new AbortController();
  const left = new AbortController();
  const served = server.serveProcess(kernel.as(pid), {
    transport: new server.StdioServerTransport(process.stdin, output),
    signal: ended.signal,
    instructions: await instructionsFor(kernel, pid),
    onError: (error) => logger.warn({ error: error.message }, 'the connection'),
  });
  const watching = kernel.processes.result(pid, { signal: left.signal }).then(
    () => ended.abort(),
    // Aborted, because the client disconnected first.
    () => undefined,
  );
  const stop = () => void served.close();
  // Not `once`: a client that waits too long sends a second signal while the shutdown signs the log.
  process.on('SIGTERM', stop).on('SIGINT', stop);
  await served.closed;
  left.abort();
  await watching;
}

async function spawnProcess({ processes }: Kernel, spec: SpawnSpec | undefined): Promise<Pid> {
  const pid = await processes.spawn(spec ?? {});
  process.stderr.write(`serving ${pid}\n`);
  return pid;
}

async function assertLive({ processes }: Kernel, pid: Pid): Promise<void> {
  const { exitedAt, status } = await processes.get(pid);
  if (exitedAt === undefined) return;
  throw new CliError(
    'PROCESS_TERMINATED',
    `Process ${pid} has ended: it is ${status}.`,
    'See which live: procura ps --live. Or spawn a new one with --spawn.',
  );
}

/** The server's instructions for the client: the process's name, parent, working directory and goal. */
async function instructionsFor(kernel: Kernel, pid: Pid): Promise<string> {
  const { name, parent, goal, cwd } = await kernel.processes.get(pid);
  const lines = [
    ...(name === undefined ? [] : [`Your name is ${JSON.stringify(name)}.`]),
    parent === null ? 'You have no parent.' : `Your parent is ${parent}.`,
    `Your working directory is ${JSON.stringify(cwd)}, in the workspace.`,
  ];
  // By query, which leaves out a goal that a rule denies or needs an approval for.
  const { items } = await kernel.as(pid).memory.query({ types: ['goal'] });
  const found = items.find(({ id }) => id === goal);
  if (found === undefined) return lines.join('\n');
  const text = JSON.stringify(found.payload).slice(0, goalCharsMax).toWellFormed();
  return [...lines, `Your goal, the object ${goal}: ${text}`].join('\n');
}

type ServerPackage = Awaited<ReturnType<typeof loadServerPackage>>;

/** The MCP package is an optional peer dependency. Throws MISSING_PACKAGE. */
async function loadServerPackage() {
  try {
    const { StdioServerTransport } = await import('@modelcontextprotocol/server/stdio');
    const { serveProcess } = await import('../../../integrations/mcp-server/index.js');
    return { StdioServerTransport, serveProcess };
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    if (!isMissing || !error.message.includes('@modelcontextprotocol/server')) throw error;
    throw new CliError(
      'MISSING_PACKAGE',
      'The package @modelcontextprotocol/server is not installed.',
      `Run: ${installCommand('@modelcontextprotocol/server@2')}`,
    );
  }
}
