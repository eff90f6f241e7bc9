import { constants, type Stats } from 'node:fs';
import { type FileHandle, link, lstat, rename, unlink } from 'node:fs/promises';
import { changedMeanwhile, KernelFile, systemCode } from './file-errors.js';
import type { OpenFolder } from './open-folder.js';
import { requireRegular } from './regular-file.js';

/** One write of a whole file. */
export interface FileWrite {
  readonly folder: OpenFolder;
  readonly name: string;
  /** The path as the caller gave it. */
  readonly inputPath: string;
  readonly bytes: Buffer;
  /** A unique name for the file until it is complete. */
  readonly draft: string;
  readonly signal: AbortSignal;
}

/** Replaces the content of a file, all of it or nothing, and keeps its mode. Throws CONFLICT, INVALID_PATH. */
export async function replaceFile(writing: FileWrite): Promise<void> {
  const old = await statExisting(writing);
  await withDraft(writing, 0o600, old, async () => {
    await statExisting(writing);
    await rename(writing.folder.pathOf(writing.draft), writing.folder.pathOf(writing.name));
  });
}

/** Creates a file, all of it or nothing. Throws CONFLICT when the name exists. */
export async function createFile(writing: FileWrite): Promise<void> {
  if (writing.folder.isKernels(writing.name)) throw new KernelFile();
  await withDraft(writing, 0o666, undefined, async () => {
    try {
      await publish(writing);
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
      throw changedMeanwhile(writing.inputPath, 'there is something of that name now');
    }
  });
}

/** Writes the bytes to the draft, then calls `publishDraft` to give it the final name. Removes the draft when that fails. */
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
    // Fails when the draft was renamed.
    await unlink(folder.pathOf(draft)).catch(() => undefined);
  }
  // Some file systems cannot sync a folder; the file itself is synced.
  await folder.sync().catch(() => undefined);
  await folder.verify();
}

/** Replaces a draft that an earlier attempt of the same call has left. */
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

/** Copies the mode, and the owner if the system permits that: only the superuser may change it. */
async function copyOwnership(handle: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  const current = await handle.stat();
  if (current.uid !== uid || current.gid !== gid) await handle.chown(uid, gid).catch(() => undefined);
  await handle.chmod(mode & 0o777);
}

/** Gives the draft its final name with a link, which fails if the name exists; the draft name is removed afterwards. */
async function publish({ folder, name, draft }: FileWrite): Promise<void> {
  try {
    await link(folder.pathOf(draft), folder.pathOf(name));
  } catch (error) {
    if (!withoutLinks.has(systemCode(error) ?? '')) throw error;
    // Some file systems have no hard links: an empty file reserves the name first.
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
    await (await folder.open(name, flags, 0o666)).close();
    await rename(folder.pathOf(draft), folder.pathOf(name));
  }
}

const withoutLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

async function statExisting({ folder, name, inputPath }: FileWrite): Promise<Stats> {
  try {
    const stats = await lstat(folder.pathOf(name));
    requireRegular(stats, inputPath);
    if (folder.isKernels(name, stats)) throw new KernelFile();
    return stats;
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    throw changedMeanwhile(inputPath, 'it is not there any more');
  }
}
