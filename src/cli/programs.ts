import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Image, Kernel, McpTarget, Tool } from '../index.js';
import { CliError } from './cli-error.js';

/** The exports of a user's module that are registered with the kernel. */
export interface Programs {
  readonly images: readonly Image[];
  readonly tools: readonly Tool[];
  /** MCP servers to connect, by name. */
  readonly mcp: Readonly<Record<string, McpTarget>>;
}

/** Loads a module that exports at least one of them; the kernel validates their contents. Throws INVALID_INPUT. */
export async function loadPrograms(modulePath: string | undefined): Promise<Programs> {
  if (modulePath === undefined) return noPrograms;
  const { images, tools, mcp } = await importModule(path.resolve(modulePath));
  if (images === undefined && tools === undefined && mcp === undefined) {
    throw invalidModule(modulePath, 'exports neither images nor tools nor mcp');
  }
  if (mcp !== undefined && (typeof mcp !== 'object' || mcp === null))
    throw invalidModule(modulePath, 'exports an mcp that is no object');
  return { images: images ?? [], tools: tools ?? [], mcp: mcp ?? {} };
}

/** Connects the module's MCP servers, which the kernel disconnects when it shuts down. Throws INVALID_INPUT, TOOL_FAILED. */
export async function connectServers({ tools }: Kernel, { mcp }: Programs): Promise<void> {
  for (const [server, target] of Object.entries(mcp)) await tools.connectMcp(server, target);
}

const noPrograms: Programs = { images: [], tools: [], mcp: {} };

async function importModule(file: string): Promise<Partial<Programs>> {
  try {
    return (await import(pathToFileURL(file).href)) as Partial<Programs>;
  } catch (error) {
    throw invalidModule(file, `could not be loaded: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function invalidModule(file: string, problem: string): CliError {
  return new CliError(
    'INVALID_INPUT',
    `The module ${file} ${problem}.`,
    'Name an ES module with: export const images = [defineImage(…)]; export const tools = [defineTool(…)]; export const mcp = { NAME: { command } };',
  );
}
