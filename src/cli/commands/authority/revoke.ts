import type { RevocationReport } from '../../../index.js';
import { findCapability } from '../../ids.js';
import { type CommonOptions, withWritableStore } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';
import { fullName } from '../../pids.js';

interface RevokeOptions extends CommonOptions {
  readonly reason?: string;
}

/** Revokes a capability and everything derived from it, and prints the capabilities and processes affected. */
export async function revoke(id: string, options: RevokeOptions): Promise<void> {
  await withWritableStore(
    options,
    (kernel) => findCapability(kernel, id),
    async ({ capabilities }, { id }) => {
      const { reason } = options;
      const report = await capabilities.revoke(id, reason === undefined ? {} : { reason });
      if (options.json === true) return writeJson(report);
      for (const line of formatRevocation(report)) await writeLine(line);
    },
  );
}

function formatRevocation({ capability, count, holders, sample }: RevocationReport): string[] {
  const id = fullName(capability);
  if (count === 0) return [`${id} had been revoked before`];
  const below = sample.filter((derived) => derived !== capability);
  const unnamed = count - 1 - below.length;
  return [
    `${id} revoked: ${countText(count, 'capability', 'capabilities')} of ${countText(holders, 'process', 'processes')}`,
    ...below.map((derived) => `  with it ${fullName(derived)}`),
    ...(unnamed > 0 ? [`  and ${unnamed} more`] : []),
  ];
}

function countText(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
