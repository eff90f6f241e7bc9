import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Image, Kernel, McpTarget, Tool } from '../index.js';
import { CliError } from './cli-error.js';

/** What a user's module brings to a kernel. */
export interface Programs {
  readonly images: readonly Image[];
  readonly tools: readonly Tool[];
  /** MCP servers to connect, by name. */
  readonly mcp: Readonly<Record<string, McpTarget>>;
}

/** Loads a module that exports some of them; the kernel itself says whether they are such. Throws INVALID_INPUT. */
export async function loadPrograms(given: string | undefined): Promise<Programs> {
  if (given === undefined) return nothing;
  const { images, tools, mcp } = await load(path.resolve(given));
  if (images === undefined && tools === undefined && mcp === undefined) {
    throw refused(given, 'exports neither images nor tools nor mcp');
  }
  if (mcp !== undefined && (typeof mcp !== 'object' || mcp === null))
    throw refused(given, 'exports an mcp that is no object');
  return { images: images ?? [], tools: tools ?? [], mcp: mcp ?? {} };
}

/** Connects its servers, which end with the kernel. Throws INVALID_INPUT, TOOL_FAILED. */
export async function connectServers({ tools }: Kernel, { mcp }: Programs): Promise<void> {
  for (const [server, target] of Object.entries(mcp)) await tools.connectMcp(server, target);
}

const nothing: Programs = { images: [], tools: [], mcp: {} };

async function load(file: string): Promise<Partial<Programs>> {
  try {
    return (await import(pathToFileURL(file).href)) as Partial<Programs>;
  } catch (error) {
    throw refused(file, `could not be loaded: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function refused(file: string, problem: string): CliError {
  return new CliError(
    'INVALID_INPUT',
    `The module ${file} ${problem}.`,
    'Name an ES module with: export const images = [defineImage(…)]; export const tools = [defineTool(…)]; export const mcp = { NAME: { command } };',
  );
}
