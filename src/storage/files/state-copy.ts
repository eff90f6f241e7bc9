import { existsSync, linkSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { errorText, StoreError } from '../../base/errors.js';
import { copyFile, prepareStateFolder, type StatePaths, statePathsOf } from './state-folder.js';
import { syncFolder } from './sync-folder.js';

/**
 * Takes what belongs to a store from one state folder to another: published checkpoints, the output of commands, and the signing
 * key where that is wanted. The folder that it comes from stays as it is.
 */
export class StateCopy {
  private readonly to: StatePaths;

  constructor(
    private readonly from: StatePaths,
    private readonly folder: string,
    private readonly withKey: boolean,
  ) {
    this.to = statePathsOf(folder);
  }

  /** Throws STORE_NOT_VACANT for a folder in which another store has left something, STORE_IO. */
  assertPossible(): void {
    this.guard(() => {
      const { from, to } = this;
      if (this.withKey && !existsSync(from.key)) throw noKey(from.key);
      if (this.withKey && existsSync(to.key) && !readFileSync(from.key).equals(readFileSync(to.key))) {
        throw inUse(this.folder, 'a key of its own');
      }
      if (!isContinued(readIfThere(to.checkpoints), readIfThere(from.checkpoints))) {
        throw inUse(this.folder, 'checkpoints of another log');
      }
      for (const name of outputOf(to)) {
        if (!isSameFile(path.join(from.output, name), path.join(to.output, name))) {
          throw inUse(this.folder, 'output of other commands');
        }
      }
    });
  }

  /** Copies what is not there. A copy that was interrupted is finished by the next one. Throws STORE_IO. */
  run(): void {
    prepareStateFolder(this.folder, null);
    this.guard(() => {
      const { from, to } = this;
      if (this.withKey && !existsSync(to.key)) copyFile(from.key, to.key);
      if (existsSync(from.checkpoints)) copyFile(from.checkpoints, to.checkpoints);
      const names = outputOf(from);
      if (names.length > 0) prepareStateFolder(to.output, null);
      for (const name of names) linkOrCopy(path.join(from.output, name), path.join(to.output, name));
      for (const folder of [to.output, this.folder]) syncFolder(folder);
    });
  }

  private guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (error instanceof StoreError) throw error;
      throw new StoreError('STORE_IO', `The state folder cannot be copied to ${this.folder}: ${errorText(error)}`, {
        facts: { path: this.folder },
        hint: 'Make both folders readable and writable for this program, or name others.',
        cause: error,
      });
    }
  }
}

function readIfThere(file: string): Buffer {
  return existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
}

/** Whether `newer` begins with everything that `older` has. */
function isContinued(older: Buffer, newer: Buffer): boolean {
  return newer.subarray(0, older.length).equals(older);
}

function outputOf({ output }: StatePaths): string[] {
  return existsSync(output) ? readdirSync(output) : [];
}

/** A second name for the file, so that a command that still writes to it writes to both; a copy on another disk. */
function linkOrCopy(from: string, to: string): void {
  if (!statSync(from).isFile() || existsSync(to)) return;
  try {
    linkSync(from, to);
  } catch {
    copyFile(from, to);
  }
}

function isSameFile(left: string, right: string): boolean {
  const [from, to] = [left, right].map((file) => statSync(file, { throwIfNoEntry: false }));
  return from !== undefined && from.size === to?.size;
}

function inUse(folder: string, what: string): StoreError {
  return new StoreError(
    'STORE_NOT_VACANT',
    `The state folder ${folder} of the target has ${what}. It was left alone.`,
    {
      facts: { path: folder, problem: what },
      hint: 'Move the folder away, or name another one for the target.',
    },
  );
}

function noKey(file: string): StoreError {
  return new StoreError('STORE_IO', `There is no signing key at ${file} that could be taken along.`, {
    facts: { path: file },
    hint: 'Name the state folder of the store that is moved, or leave the key out: the target gets a new one.',
  });
}
