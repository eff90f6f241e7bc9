import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { CapabilitySpec, JsonObject, Kernel, KernelOptions, Pid, Right, Tool } from '../../../src/index.js';
import { KernelFiles } from '../../../src/kernel/workspace/kernel-files.js';
import { fsTools } from '../../../src/tools/builtin/fs-tools.js';
import type { LookupMode } from '../../../src/tools/files/open-folder.js';
import { openKernel, tempFolder } from '../kernel.js';

export const everyRight: readonly Right[] = ['read', 'write', 'create', 'delete', 'list'];
export const callTools: CapabilitySpec = { resource: 'tool:**', rights: ['call'] };

export interface FileFixture {
  readonly kernel: Kernel;
  readonly workspace: string;
  /** A folder outside the workspace, with a secret in it. */
  readonly outside: string;
  /** Spawns a process that may call every tool and holds these rights, by default all of them, on these files. */
  spawnHolding(resource: string, rights?: readonly Right[], cwd?: string): Promise<Pid>;
  call(pid: Pid, tool: string, args: JsonObject, options?: { signal?: AbortSignal }): Promise<JsonObject>;
  /** Writes a file without a tool. */
  write(name: string, content: string | Buffer): string;
  read(name: string): string;
  /** The files outside, with their content. */
  outsideFiles(): Record<string, string>;
}

/** A folder in memory, if the system has that: for tests that write too much for a disk. */
export function memoryFolder(): string {
  if (!existsSync('/dev/shm')) return tempFolder();
  const folder = mkdtempSync('/dev/shm/procura-');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A kernel with the file tools and a workspace of its own, beside a folder `outside`; both in the folder `above`. */
export async function fileFixture(
  lookupMode?: LookupMode,
  options: KernelOptions = {},
  above = tempFolder(),
): Promise<FileFixture> {
  const [workspace, outside] = [path.join(realpathSync(above), 'inside'), path.join(realpathSync(above), 'outside')];
  for (const folder of [workspace, outside]) mkdirSync(folder);
  writeFileSync(path.join(outside, 'secret'), 'the outside secret');
  const kernel = await openKernel({ node: { executor: false }, durability: 'normal', workspace, ...options });
  const prefix = lookupMode === undefined ? '' : `${lookupMode}.`;
  registerMissing(kernel, fsTools(lookupMode, kernel.container.get(KernelFiles)), prefix);
  return {
    kernel,
    workspace,
    outside,
    spawnHolding: (resource, rights = everyRight, cwd = '.') =>
      kernel.processes.spawn({ cwd, capabilities: [callTools, { resource, rights: [...rights] }] }),
    call: async (pid, tool, args, rest) =>
      (await kernel.as(pid).tools.call(`${prefix}${tool}`, args, rest)) as JsonObject,
    write: (name, content) => {
      const file = path.join(workspace, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
    read: (name) => readFileSync(path.join(workspace, name), 'utf8'),
    outsideFiles: () =>
      Object.fromEntries(readdirSync(outside).map((name) => [name, readFileSync(path.join(outside, name), 'utf8')])),
  };
}

/** Makes a named pipe, which blocks every reader until somebody writes. */
export function makePipe(folder: string, name: string): void {
  execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', path.join(folder, name)]);
}

/** Registers the tools whose names the kernel does not have. */
export function registerMissing(kernel: Kernel, tools: readonly Tool[], prefix = ''): void {
  const known = new Set(kernel.tools.list().map(({ name }) => name));
  for (const tool of tools) {
    const name = `${prefix}${tool.name}`;
    if (!known.has(name)) kernel.tools.register({ ...tool, name });
  }
}
