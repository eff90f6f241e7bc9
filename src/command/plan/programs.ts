import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import path from 'node:path';

/** The program that a command names, and the resource that its use is decided by. */
export interface Program {
  readonly resource: string;
  /** The file that is executed; absent where there is none. */
  readonly file?: string;
}

/**
 * A bare name is looked up on the kernel's own PATH, whatever the command's environment says. A name with a slash is a
 * file as seen from `folder`, and goes by its real path: links do not hide what is run.
 */
export function findProgram(named: string, folder: string, searchPath: string): Program {
  if (!named.includes('/')) return { resource: `command:${named}`, ...optionalFile(searchPathFor(named, searchPath)) };
  const spelled = path.resolve(folder, named);
  const real = realPath(spelled);
  return { resource: `command:abs${real ?? spelled}`, ...optionalFile(real) };
}

function optionalFile(file: string | undefined): { readonly file?: string } {
  return file === undefined ? {} : { file };
}

/** A relative folder on the PATH would mean another one for every command: it is passed over. */
function searchPathFor(name: string, searchPath: string): string | undefined {
  const folders = searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find(isProgram);
}

function isProgram(file: string): boolean {
  // Most folders do not have it, and a look that fails costs more than one that finds nothing.
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    // It may not be executed.
    return false;
  }
}

/** Undefined where there is nothing. */
export function realPath(file: string): string | undefined {
  try {
    return realpathSync.native(file);
  } catch {
    // Whoever uses it learns that there is none then.
    return undefined;
  }
}
