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

/** Longer than it takes to stop a program: who has ended it is known when its process has ended. */
const endTimeoutMs = 3_000;

/**
 * Starts a program and speaks with it through its pipes. Most programs know the handshake of 2025, and some end when they
 * are asked anything before it: it comes first. One that refuses it is started again and asked what it knows.
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
  const place = cwd === undefined ? {} : { cwd };
  const command = await commands.start({ name: `mcp:${server}`, argv: [program, ...args], env, ...place });
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

/** A program that has closed its pipes and goes on is of no use, and is stopped by whoever hangs up. */
function sessionEndOf({ ended }: PipedCommand, closed: Promise<void>): SessionEnd {
  // Its end cannot be told when the kernel is shut down, and nobody asks then.
  const known = ended.catch(() => undefined);
  const silent = Promise.race([known, closed]);
  return { closed: silent, isIntended: silent.then(() => wasMeant(known)) };
}

async function wasMeant(known: Promise<ProcessResult | undefined>): Promise<boolean> {
  const waiting = new AbortController();
  const late = sleep(endTimeoutMs, undefined, { ref: false, signal: waiting.signal }).catch(() => undefined);
  const result = await Promise.race([known, late]);
  waiting.abort();
  return result?.status === 'killed';
}
