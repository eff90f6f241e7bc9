import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Kernel, KernelError, type KernelOptions, type McpProgram, type Pid } from '../../../src/index.js';
import { openKernel } from '../kernel.js';

const { resolve } = createRequire(import.meta.url);

/** A reference server from npm. */
export function npmServer(name: string, ...args: string[]): McpProgram {
  const folder = path.dirname(resolve(`@modelcontextprotocol/${name}/package.json`));
  return { command: process.execPath, args: [path.join(folder, 'dist/index.js'), ...args] };
}

/** A program of the folder `programs` beside this file. */
export function testProgram(name: string, ...args: string[]): McpProgram {
  const file = fileURLToPath(new URL(`programs/${name}`, import.meta.url));
  return { command: process.execPath, args: [file, ...args] };
}

export interface Warning {
  readonly message: string;
  readonly facts: Record<string, unknown>;
}

/** A kernel that collects its warnings, and a process that may call every tool of every server. */
export async function mcpFixture(options: KernelOptions = {}): Promise<{
  kernel: Kernel;
  pid: Pid;
  call: (name: string, args?: object, timeoutMs?: number) => Promise<unknown>;
  warnings: Warning[];
}> {
  const warnings: Warning[] = [];
  const report = (facts: object, message: string) => void warnings.push({ message, facts: { ...facts } });
  const kernel = await openKernel({ logger: { warn: report, error: report }, ...options });
  const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:mcp/**', rights: ['call'] }] });
  const call = async (name: string, args: object = {}, timeoutMs = 60_000) =>
    toPlain(await kernel.as(pid).tools.call(name, { ...args }, { timeoutMs }));
  return { kernel, pid, call, warnings };
}

/** A copy with prototypes: results have none, and the values that they are compared with have one. */
export function toPlain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Code, facts and retryability of the error that `call` rejects with. */
export async function failureOf(call: Promise<unknown>): Promise<{ code: string; facts: unknown; retryable: boolean }> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof KernelError)) throw error;
    if (error.hint === '') throw new Error(`${error.code} has no hint`);
    return { code: error.code, facts: error.facts, retryable: error.retryable };
  }
  throw new Error('the call did not fail');
}
