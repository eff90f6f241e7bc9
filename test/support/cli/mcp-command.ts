import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { onTestFinished } from 'vitest';
import type { Kernel } from '../../../src/index.js';
import { builtPackage } from '../built-package.js';
import { newClient } from '../integrations/mcp-client.js';
import { openKernel, tempFolder } from '../kernel.js';
import { isPostgres } from '../storage/postgres-raw-connection.js';

/** A running `procura mcp` with a client connected to it. */
export interface McpCommand {
  readonly client: Client;
  /** Its standard error output so far. */
  readonly stderr: () => string;
  /** The id of its OS process. */
  readonly osPid: number;
  /** Resolves when its end of the connection is closed. */
  readonly closed: Promise<void>;
}

/** A kernel in the test's program, on the database that the command opens too. */
export async function openOwnKernel(): Promise<{ kernel: Kernel; store: string; folder: string }> {
  const folder = tempFolder();
  const store = path.join(folder, 'agents.db');
  const kernel = await openKernel({ store, workspace: folder, node: { pollMs: 20 } });
  return { kernel, store, folder };
}

export async function startMcp(store: string, ...args: string[]): Promise<McpCommand> {
  const main = path.join(await builtPackage(), 'dist', 'cli', 'main.js');
  const workspace = isPostgres(store) ? tempFolder() : path.dirname(store);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [main, 'mcp', '--store', store, '--workspace', workspace, ...args],
    env: { PATH: process.env.PATH ?? '', XDG_STATE_HOME: process.env.XDG_STATE_HOME ?? '' },
    stderr: 'pipe',
  });
  let stderr = '';
  transport.stderr?.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const client = newClient();
  const closed = new Promise<void>((resolve) => {
    client.onclose = resolve;
  });
  onTestFinished(() => client.close());
  await client.connect(transport);
  return { client, closed, stderr: () => stderr, osPid: transport.pid ?? 0 };
}

/** Writes a module for `--images` that also prints to standard output, which only the protocol may use. */
export function writePrograms(folder: string, body: string): string {
  const file = path.join(folder, `programs-${readdirSync(folder).length}.mjs`);
  writeFileSync(file, `console.log('loaded'); process.stdout.write('noise\\n');\n${body}`);
  return file;
}
