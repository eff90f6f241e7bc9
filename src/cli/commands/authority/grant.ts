import type { Capability, Right } from '../../../index.js';
import { type CommonOptions, withWritableStore } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';
import { findPid, fullName } from '../../pids.js';
import { safeText } from '../../safe-text.js';
import { formatTime } from '../../times.js';

interface GrantOptions extends CommonOptions {
  readonly delegable?: boolean;
  readonly uses?: number;
  /** In milliseconds. */
  readonly expiresIn?: number;
}

/** Grants a process a capability. */
export async function grant(
  pidOrSuffix: string,
  resource: string,
  rights: readonly string[],
  options: GrantOptions,
): Promise<void> {
  await withWritableStore(
    options,
    (kernel) => findPid(kernel, pidOrSuffix),
    async ({ capabilities }, pid) => {
      const { delegable, uses, expiresIn } = options;
      const granted = await capabilities.grant(pid, {
        resource,
        // The kernel validates the rights.
        rights: rights as readonly Right[],
        ...(delegable === undefined ? {} : { delegable }),
        ...(uses === undefined ? {} : { uses }),
        ...(expiresIn === undefined ? {} : { expiresAt: Date.now() + expiresIn }),
      });
      if (options.json === true) return writeJson(granted);
      await writeLine(formatGrant(granted));
    },
  );
}

function formatGrant({ id, holder, resource, rights, uses, expiresAt }: Capability): string {
  const often = uses === undefined ? '' : `, ${uses} ${uses === 1 ? 'use' : 'uses'}`;
  const until = expiresAt === undefined ? '' : `, until ${formatTime(expiresAt)}`;
  return `${fullName(id)} granted: ${rights.join(',')} on ${safeText(resource)} to ${fullName(holder)}${often}${until}`;
}
