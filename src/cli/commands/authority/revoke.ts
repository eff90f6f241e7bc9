import type { RevocationReport } from '../../../index.js';
import { findCapability } from '../../ids.js';
import { type CommonOptions, writing } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';
import { fullName } from '../../pids.js';

interface RevokeOptions extends CommonOptions {
  readonly reason?: string;
}

/** Ends a capability and everything derived from it, and tells how far that went. */
export async function revoke(given: string, options: RevokeOptions): Promise<void> {
  await writing(
    options,
    (kernel) => findCapability(kernel, given),
    async ({ capabilities }, { id }) => {
      const { reason } = options;
      const report = await capabilities.revoke(id, reason === undefined ? {} : { reason });
      if (options.json === true) return writeJson(report);
      for (const line of told(report)) await writeLine(line);
    },
  );
}

function told({ capability, count, holders, sample }: RevocationReport): string[] {
  const id = fullName(capability);
  if (count === 0) return [`${id} had been revoked before`];
  const below = sample.filter((one) => one !== capability);
  const unnamed = count - 1 - below.length;
  return [
    `${id} revoked: ${counted(count, 'capability', 'capabilities')} of ${counted(holders, 'process', 'processes')}`,
    ...below.map((one) => `  with it ${fullName(one)}`),
    ...(unnamed > 0 ? [`  and ${unnamed} more`] : []),
  ];
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
