import type { Capability, Right } from '../../../index.js';
import { type CommonOptions, writing } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';
import { findPid, fullName } from '../../pids.js';
import { safeText } from '../../safe-text.js';
import { showTime } from '../../times.js';

interface GrantOptions extends CommonOptions {
  readonly delegable?: boolean;
  readonly uses?: number;
  /** In milliseconds. */
  readonly expiresIn?: number;
}

/** Gives a process a capability of its own. */
export async function grant(
  given: string,
  resource: string,
  rights: readonly string[],
  options: GrantOptions,
): Promise<void> {
  await writing(
    options,
    (kernel) => findPid(kernel, given),
    async ({ capabilities }, pid) => {
      const { delegable, uses, expiresIn } = options;
      const granted = await capabilities.grant(pid, {
        resource,
        // The kernel itself says which rights a resource knows.
        rights: rights as readonly Right[],
        ...(delegable === undefined ? {} : { delegable }),
        ...(uses === undefined ? {} : { uses }),
        ...(expiresIn === undefined ? {} : { expiresAt: Date.now() + expiresIn }),
      });
      if (options.json === true) return writeJson(granted);
      await writeLine(told(granted));
    },
  );
}

function told({ id, holder, resource, rights, uses, expiresAt }: Capability): string {
  const often = uses === undefined ? '' : `, ${uses} ${uses === 1 ? 'use' : 'uses'}`;
  const until = expiresAt === undefined ? '' : `, until ${showTime(expiresAt)}`;
  return `${fullName(id)} granted: ${rights.join(',')} on ${safeText(resource)} to ${fullName(holder)}${often}${until}`;
}
