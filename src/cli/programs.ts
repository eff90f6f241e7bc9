import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Image, Tool } from '../index.js';
import { CliError } from './cli-error.js';

/** What a user's module brings to a kernel. */
export interface Programs {
  readonly images?: readonly Image[];
  readonly tools?: readonly Tool[];
}

/** Loads a module that exports `images` and `tools`; the kernel itself says whether they are such. Throws INVALID_INPUT. */
export async function loadPrograms(given: string | undefined): Promise<Programs> {
  if (given === undefined) return {};
  const { images, tools } = await load(path.resolve(given));
  if (images === undefined && tools === undefined) throw refused(given, 'exports neither images nor tools');
  return { ...(images === undefined ? {} : { images }), ...(tools === undefined ? {} : { tools }) };
}

async function load(file: string): Promise<Programs> {
  try {
    return (await import(pathToFileURL(file).href)) as Programs;
  } catch (error) {
    throw refused(file, `could not be loaded: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function refused(file: string, problem: string): CliError {
  return new CliError(
    'INVALID_INPUT',
    `The module ${file} ${problem}.`,
    'Name an ES module with: export const images = [defineImage(…)]; export const tools = [defineTool(…)];',
  );
}
