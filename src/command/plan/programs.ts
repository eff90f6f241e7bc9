import { accessSync, constants, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs';
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

/**
 * The resources that a program goes by: its name, the files that its links lead through, the bare names of those, and the
 * same file where programs usually lie. Rules match any of them.
 */
export function resourcesOfProgram(name: string, folder: string, searchPath: string): string[] {
  const start = name.includes('/') ? path.resolve(folder, name) : searchPathFor(name, searchPath);
  const files = start === undefined ? [] : linkChain(start);
  const bareNames = [...new Set([path.basename(name), ...files.map((file) => path.basename(file))])];
  const others = start === undefined ? [] : sameFiles(start, bareNames, searchPath);
  const paths = [...new Set([...files, ...others])];
  return [...bareNames.map((bare) => `command:${bare}`), ...paths.map((file) => `command:abs${file}`)];
}

function optionalFile(file: string | undefined): { readonly file?: string } {
  return file === undefined ? {} : { file };
}

/** Skips relative folders on the PATH, which would depend on the working directory. */
function searchPathFor(name: string, searchPath: string): string | undefined {
  return foldersOf(searchPath)
    .map((folder) => path.join(folder, name))
    .find(isProgram);
}

function foldersOf(searchPath: string): string[] {
  return searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
}

const linksMax = 40;

/** The file, every file that its last link leads to, and the real path at the end. */
function linkChain(file: string): string[] {
  const chain = [file];
  for (let next = file; chain.length < linksMax; chain.push(next)) {
    const target = linkTarget(next);
    if (target === undefined) break;
    next = path.resolve(path.dirname(next), target);
  }
  const real = realPath(file);
  return real === undefined ? chain : [...chain, real];
}

function linkTarget(file: string): string | undefined {
  try {
    return readlinkSync(file);
  } catch {
    // It is no link, or is not there.
    return undefined;
  }
}

/** Where programs usually lie. Some of these folders are links to others. */
const programFolders = ['/bin', '/sbin', '/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin'];

/** The paths in the folders of programs that lead to the same file by one of its names. */
function sameFiles(file: string, bareNames: readonly string[], searchPath: string): string[] {
  const stats = statOf(file);
  if (stats === undefined) return [];
  const folders = [...new Set([...foldersOf(searchPath), ...programFolders])];
  const candidates = folders.flatMap((folder) => bareNames.map((name) => path.join(folder, name)));
  return candidates.filter((candidate) => {
    const other = statOf(candidate);
    return other?.ino === stats.ino && other.dev === stats.dev;
  });
}

function statOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    // It cannot be reached.
    return undefined;
  }
}

function isProgram(file: string): boolean {
  // Most folders do not have it, and statSync without an error is cheaper than an exception of accessSync.
  if (statOf(file)?.isFile() !== true) return false;
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
