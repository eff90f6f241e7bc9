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
import { fsTools } from '../../../src/tools/builtin/fs-tools.js';
import type { LookupMode } from '../../../src/tools/files/open-folder.js';
import { openKernel, tempFolder } from '../kernel.js';

export const everyRight: readonly Right[] = ['read', 'write', 'create', 'delete', 'list'];
export const callTools: CapabilitySpec = { resource: 'tool:**', rights: ['call'] };

export interface FileStage {
  readonly kernel: Kernel;
  readonly workspace: string;
  /** A folder that no tool may look into, with a secret in it. */
  readonly outside: string;
  /** A process that may call every tool, and hold these rights, by default all of them, on these files. */
  holding(resource: string, rights?: readonly Right[], cwd?: string): Promise<Pid>;
  call(pid: Pid, tool: string, args: JsonObject, options?: { signal?: AbortSignal }): Promise<JsonObject>;
  /** Writes a file as nobody's tool. */
  put(name: string, content: string | Buffer): string;
  text(name: string): string;
  /** Everything outside, as it is now. */
  beyond(): Record<string, string>;
}

/** A folder in memory where there is one: for tests that write so much that a disk would be too slow. */
export function memoryFolder(): string {
  if (!existsSync('/dev/shm')) return tempFolder();
  const folder = mkdtempSync('/dev/shm/procura-');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A kernel with the file tools on a workspace of its own, beside a folder that is none of its business; both in `above`. */
export async function fileStage(
  reach?: LookupMode,
  options: KernelOptions = {},
  above = tempFolder(),
): Promise<FileStage> {
  const [workspace, outside] = [path.join(realpathSync(above), 'inside'), path.join(realpathSync(above), 'outside')];
  for (const folder of [workspace, outside]) mkdirSync(folder);
  writeFileSync(path.join(outside, 'secret'), 'the outside secret');
  const kernel = await openKernel({ node: { executor: false }, durability: 'normal', workspace, ...options });
  const prefix = reach === undefined ? '' : `${reach}.`;
  registerMissing(kernel, fsTools(reach), prefix);
  return {
    kernel,
    workspace,
    outside,
    holding: (resource, rights = everyRight, cwd = '.') =>
      kernel.processes.spawn({ cwd, capabilities: [callTools, { resource, rights: [...rights] }] }),
    call: async (pid, tool, args, rest) =>
      (await kernel.as(pid).tools.call(`${prefix}${tool}`, args, rest)) as JsonObject,
    put: (name, content) => {
      const file = path.join(workspace, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
    text: (name) => readFileSync(path.join(workspace, name), 'utf8'),
    beyond: () =>
      Object.fromEntries(readdirSync(outside).map((name) => [name, readFileSync(path.join(outside, name), 'utf8')])),
  };
}

/** A pipe with a name, which keeps whoever opens it waiting until somebody writes. */
export function makePipe(folder: string, name: string): void {
  execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', path.join(folder, name)]);
}

/** Registers tools that the kernel does not come with. */
export function registerMissing(kernel: Kernel, tools: readonly Tool[], prefix = ''): void {
  const known = new Set(kernel.tools.list().map(({ name }) => name));
  for (const tool of tools) {
    const name = `${prefix}${tool.name}`;
    if (!known.has(name)) kernel.tools.register({ ...tool, name });
  }
}
