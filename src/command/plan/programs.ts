import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import path from 'node:path';

/** A program, and the resource that the right to call it is decided on. */
export interface Program {
  readonly resource: string;
  /** The file to execute; absent if there is no such program. */
  readonly file?: string;
}

/**
 * A bare name is looked up on the kernel's own PATH, whatever the environment of the command says. A name with a slash is
 * relative to `folder`, and its resource is the real path: links do not hide which program runs.
 */
export function findProgram(name: string, folder: string, searchPath: string): Program {
  if (!name.includes('/')) return { resource: `command:${name}`, ...optionalFile(searchPathFor(name, searchPath)) };
  const spelled = path.resolve(folder, name);
  const real = realPath(spelled);
  return { resource: `command:abs${real ?? spelled}`, ...optionalFile(real) };
}

function optionalFile(file: string | undefined): { readonly file?: string } {
  return file === undefined ? {} : { file };
}

/** Skips relative folders on the PATH, which would depend on the working directory. */
function searchPathFor(name: string, searchPath: string): string | undefined {
  const folders = searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find(isProgram);
}

function isProgram(file: string): boolean {
  // Most folders do not have it, and statSync without an error is cheaper than an exception of accessSync.
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    // It may not be executed.
    return false;
  }
}

/** Undefined if there is no such file. */
export function realPath(file: string): string | undefined {
  try {
    return realpathSync.native(file);
  } catch {
    // It does not exist, or cannot be reached.
    return undefined;
  }
}
