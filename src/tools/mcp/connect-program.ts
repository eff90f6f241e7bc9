import { setTimeout as sleep } from 'node:timers/promises';
import type { VersionNegotiationMode } from '@modelcontextprotocol/client';
import { KernelError } from '../../base/errors.js';
import type { PipedCommand, PipedCommands } from '../../command/drive/piped-commands.js';
import type { ProcessResult } from '../../kernel/process/process.js';
import { type ClientOptions, createClient, initialize } from './mcp-client.js';
import { notConnected } from './mcp-errors.js';
import { McpSession, type SessionEnd } from './mcp-session.js';
import type { ParsedProgram } from './mcp-target.js';
import { PipeTransport } from './pipe-transport.js';

/** Longer than it takes to stop a program: whether it was stopped on purpose is known when its process has ended. */
const endTimeoutMs = 3_000;

/**
 * Starts a program and connects to it through its pipes. Throws TOOL_FAILED. Most programs know the handshake of 2025, and
 * some exit at any other request before it, so it is tried first. A program that refuses it is started again, and the
 * version is negotiated.
 */
export async function connectProgram(
  options: ClientOptions,
  commands: PipedCommands,
  target: ParsedProgram,
): Promise<McpSession> {
  const { ProtocolError, ProtocolErrorCode } = options.sdk;
  try {
    return await connectOnce(options, commands, target, 'legacy');
  } catch (error) {
    const cause = error instanceof KernelError ? error.cause : undefined;
    const isNewer = cause instanceof ProtocolError && cause.code === ProtocolErrorCode.UnsupportedProtocolVersion;
    if (!isNewer) throw error;
    return connectOnce(options, commands, target, 'auto');
  }
}

async function connectOnce(
  options: ClientOptions,
  commands: PipedCommands,
  target: ParsedProgram,
  mode: VersionNegotiationMode,
): Promise<McpSession> {
  const { sdk, server, signal } = options;
  const { command: program, args, env, cwd } = target;
  const folder = cwd === undefined ? {} : { cwd };
  const command = await commands.start({ name: `mcp:${server}`, argv: [program, ...args], env, ...folder });
  const client = createClient(options, mode);
  const closed = new Promise<void>((resolve) => {
    client.onclose = resolve;
  });
  try {
    await initialize(client, new PipeTransport(sdk, command), signal);
  } catch (error) {
    await commands.stop(command, 'the handshake failed');
    const { pid, exitCode = null } = await command.ended;
    throw notConnected(sdk, server, error, { pid, exitCode });
  }
  return new McpSession(sdk, client, sessionEndOf(command, closed), async () => {
    await client.close();
    await commands.stop(command, 'the connection was closed');
  });
}

/** The session also ends when a program that goes on running has closed its pipes; closing the session stops it. */
function sessionEndOf({ ended }: PipedCommand, closed: Promise<void>): SessionEnd {
  // It rejects when the kernel is shut down before the program ends.
  const result = ended.catch(() => undefined);
  const sessionClosed = Promise.race([result, closed]);
  return { closed: sessionClosed, isIntended: sessionClosed.then(() => wasStopped(result)) };
}

/** Whether the program was killed through its process, and has not exited by itself. */
async function wasStopped(ended: Promise<ProcessResult | undefined>): Promise<boolean> {
  const waiting = new AbortController();
  const timeout = sleep(endTimeoutMs, undefined, { ref: false, signal: waiting.signal }).catch(() => undefined);
  const result = await Promise.race([ended, timeout]);
  waiting.abort();
  return result?.status === 'killed';
}
