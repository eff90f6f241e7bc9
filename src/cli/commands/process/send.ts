import type { JsonValue } from '../../../index.js';
import { type CommonOptions, withWritableStore } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';
import { findPid, fullName } from '../../pids.js';

interface SendCommandOptions extends CommonOptions {
  readonly text?: boolean;
}

/** Puts a message into the mailbox of a process, with the sender `host`. */
export async function send(pidOrSuffix: string, value: string, options: SendCommandOptions): Promise<void> {
  const message = options.text === true ? value : parseValue(value);
  await withWritableStore(
    options,
    (kernel) => findPid(kernel, pidOrSuffix),
    async ({ processes }, pid) => {
      await processes.send(pid, message);
      if (options.json === true) return writeJson({ to: pid, message });
      await writeLine(`${fullName(pid)} sent`);
    },
  );
}

/** JSON if it parses, else text. */
function parseValue(value: string): JsonValue {
  try {
    return JSON.parse(value) as JsonValue;
  } catch {
    return value;
  }
}
