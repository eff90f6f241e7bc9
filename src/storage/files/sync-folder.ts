import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Makes new names in a folder durable. Some file systems cannot sync a folder. */
export function syncFolder(folder: string): void {
  try {
    const descriptor = openSync(folder, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // The files themselves were synced when they were written.
  }
}
