import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { errorText, StoreError } from '../../base/errors.js';
import { syncFolder } from './sync-folder.js';

/** The places of the files that a kernel keeps besides its database. */
export interface StatePaths {
  readonly key: string;
  readonly checkpoints: string;
  readonly output: string;
}

/** The state folder of a database on a server: in the folder of this user for the state of programs, as the XDG base directories have it. */
export function stateFolderOfLog(log: string): string {
  const { XDG_STATE_HOME: home } = process.env;
  const folder = home !== undefined && path.isAbsolute(home) ? home : path.join(homedir(), '.local', 'state');
  return path.join(folder, 'procura', log);
}

/** The places in a state folder. */
export function statePathsOf(folder: string): StatePaths {
  return {
    key: path.join(folder, 'key'),
    checkpoints: path.join(folder, 'checkpoints'),
    output: path.join(folder, 'output'),
  };
}

/** The places beside the database that earlier releases used. */
export function oldPathsOf(database: string): StatePaths {
  return { key: `${database}.key`, checkpoints: `${database}.checkpoints`, output: `${database}.output` };
}

/**
 * Creates the state folder, for its owner only, and moves what lies at the old places into it. Each move is atomic, so that
 * one that was interrupted is finished by the next call, and of two programs one moves and the other finds it moved. What is
 * in the folder already is never replaced. Throws STORE_IO.
 */
export function prepareStateFolder(folder: string, database: string | null): void {
  try {
    mkdirSync(folder, { mode: 0o700, recursive: true });
    if ((statSync(folder).mode & 0o077) !== 0) chmodSync(folder, 0o700);
    if (database === null) return;
    const [from, to] = [oldPathsOf(database), statePathsOf(folder)];
    const isMoved = [
      move(from.key, to.key, copyFile),
      move(from.checkpoints, to.checkpoints, copyFile),
      move(from.output, to.output, copyFolder),
    ].includes(true);
    if (isMoved) for (const changed of [folder, path.dirname(database)]) syncFolder(changed);
  } catch (error) {
    throw new StoreError('STORE_IO', `The state folder ${folder} cannot be used: ${errorText(error)}`, {
      facts: { path: folder },
      hint: 'Name a folder with options.state that this program owns and may write to.',
      cause: error,
    });
  }
}

/** Whether there was something to move. */
function move(from: string, to: string, copy: (from: string, to: string) => void): boolean {
  if (!existsSync(from)) return false;
  try {
    if (existsSync(to)) return finishCopy(from, to);
    renameSync(from, to);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    // Another program has moved it meanwhile.
    if (code === 'ENOENT') return false;
    if (code !== 'EXDEV') throw error;
    copy(from, to);
    if (copy === copyFile) rmSync(from, { force: true });
  }
  return true;
}

/** Removes what was copied by a program that ended before it could do so. Another file is left where it is. */
function finishCopy(from: string, to: string): boolean {
  if (statSync(from).isDirectory()) return mergeFolder(from, to);
  if (!readFileSync(from).equals(readFileSync(to))) return false;
  rmSync(from, { force: true });
  return true;
}

function mergeFolder(from: string, to: string): boolean {
  for (const name of readdirSync(from)) move(path.join(from, name), path.join(to, name), copyFile);
  if (readdirSync(from).length > 0) return false;
  rmSync(from, { recursive: true, force: true });
  return true;
}

/** For a state folder on another disk. The copy gets its name when it is complete. */
export function copyFile(from: string, to: string): void {
  const draft = `${to}.${process.pid}.new`;
  copyFileSync(from, draft);
  chmodSync(draft, statSync(from).mode & 0o700);
  const file = openSync(draft, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, to);
}

function copyFolder(from: string, to: string): void {
  mkdirSync(to, { mode: 0o700, recursive: true });
  mergeFolder(from, to);
}
