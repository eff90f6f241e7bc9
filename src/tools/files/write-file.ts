import { constants, type Stats } from 'node:fs';
import { type FileHandle, link, lstat, rename, unlink } from 'node:fs/promises';
import { changedMeanwhile, systemCode } from './file-errors.js';
import type { OpenFolder } from './open-folder.js';
import { requireRegular } from './regular-file.js';

/** What is to be in a file. */
export interface FileWrite {
  readonly folder: OpenFolder;
  readonly name: string;
  /** The path that was asked for. */
  readonly shown: string;
  readonly bytes: Buffer;
  /** The name that it has until it is whole; one that nothing else has. */
  readonly draft: string;
  readonly signal: AbortSignal;
}

/** Puts other bytes into a file that is there: all of them or none. It keeps its mode. Throws CONFLICT, INVALID_PATH. */
export async function replaceFile(writing: FileWrite): Promise<void> {
  const old = await statExisting(writing);
  await withDraft(writing, 0o600, old, async () => {
    await statExisting(writing);
    await rename(writing.folder.pathOf(writing.draft), writing.folder.pathOf(writing.name));
  });
}

/** Makes a file that is not there yet: all of it or nothing. Throws CONFLICT when there is something of that name. */
export async function createFile(writing: FileWrite): Promise<void> {
  await withDraft(writing, 0o666, undefined, async () => {
    try {
      await publish(writing);
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
      throw changedMeanwhile(writing.shown, 'there is something of that name now');
    }
  });
}

/** Writes the bytes under another name, then lets `put` give them their own. Leaves nothing behind when that fails. */
async function withDraft(
  writing: FileWrite,
  mode: number,
  original: Stats | undefined,
  publishDraft: () => Promise<void>,
): Promise<void> {
  const { folder, bytes, draft, signal } = writing;
  try {
    await using handle = await createDraft(folder, draft, mode);
    await handle.writeFile(bytes, { signal });
    if (original !== undefined) await copyOwnership(handle, original);
    await handle.sync();
    signal.throwIfAborted();
    await folder.verify();
    await publishDraft();
  } finally {
    // Where it has been renamed there is nothing of that name any more.
    await unlink(folder.pathOf(draft)).catch(() => undefined);
  }
  // Some disks cannot do that for a folder; the file itself is on the disk.
  await folder.sync().catch(() => undefined);
  await folder.verify();
}

/** An earlier attempt of the same call may have left its draft behind. */
async function createDraft(folder: OpenFolder, draft: string, mode: number): Promise<FileHandle> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  try {
    return await folder.open(draft, flags, mode);
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  }
  await unlink(folder.pathOf(draft));
  return folder.open(draft, flags, mode);
}

/** Mode, and owner where that is allowed: only a kernel of the superuser may give a file away. */
async function copyOwnership(handle: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  const own = await handle.stat();
  if (own.uid !== uid || own.gid !== gid) await handle.chown(uid, gid).catch(() => undefined);
  await handle.chmod(mode & 0o777);
}

/** A second name, which is refused if there is one already; then the first is taken away. */
async function publish({ folder, name, draft }: FileWrite): Promise<void> {
  try {
    await link(folder.pathOf(draft), folder.pathOf(name));
  } catch (error) {
    if (!withoutLinks.has(systemCode(error) ?? '')) throw error;
    // Some disks have one name for each file: the name is taken by an empty file first.
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
    await (await folder.open(name, flags, 0o666)).close();
    await rename(folder.pathOf(draft), folder.pathOf(name));
  }
}

const withoutLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

async function statExisting({ folder, name, shown }: FileWrite): Promise<Stats> {
  try {
    const stats = await lstat(folder.pathOf(name));
    requireRegular(stats, shown);
    return stats;
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    throw changedMeanwhile(shown, 'it is not there any more');
  }
}
