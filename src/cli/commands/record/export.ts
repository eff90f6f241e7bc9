import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { CliError } from '../../cli-error.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';

interface ExportOptions extends CommonOptions {
  readonly out?: string;
  readonly payloads?: boolean;
}

/** Writes the log as JSON Lines. Nothing is signed for it: `procura checkpoint` does that. */
export async function exportLog(options: ExportOptions): Promise<void> {
  await withReadOnlyStore(options, async ({ audit }) => {
    const lines = audit.export({ payloads: options.payloads === true });
    if (options.out === undefined) return pipeline(lines, process.stdout, { end: false });
    try {
      await pipeline(lines, createWriteStream(options.out));
    } catch (error) {
      if (error instanceof Error && 'syscall' in error) throw notWritten(options.out, error);
      throw error;
    }
  });
}

function notWritten(file: string, error: Error): CliError {
  return new CliError(
    'EXPORT_FAILED',
    `${file} could not be written: ${error.message}`,
    'Name a file that may be written.',
  );
}
