import { ownerLost, type ReleasedProcess, type ReleaseResult } from './releases.js';

/** Counts of the processes of nodes that are gone, by what recovery has made of them. */
export interface RecoveryReport {
  /** Processes that such a node held. */
  readonly checked: number;
  /** Commands that still ran, and are watched again. */
  readonly adopted: number;
  /** To be run again with their journal. */
  readonly rerun: number;
  /** By reason. */
  readonly abandoned: Readonly<Record<string, number>>;
  /** Commands whose state cannot be proven on this machine. */
  readonly unverified: number;
  /** Processes that were paused, and stay so. */
  readonly paused: number;
  /** Processes that were stopping, and have ended. */
  readonly stopped: number;
}

export const emptyReport: RecoveryReport = {
  checked: 0,
  adopted: 0,
  rerun: 0,
  abandoned: {},
  unverified: 0,
  paused: 0,
  stopped: 0,
};

export function isEmptyReport({ adopted, abandoned, unverified, stopped }: RecoveryReport): boolean {
  return adopted + unverified + stopped + Object.keys(abandoned).length === 0;
}

export function countReleased(released: readonly ReleasedProcess[]): RecoveryReport {
  const count = (kind: ReleaseResult) => released.filter(({ result }) => result === kind).length;
  const abandoned = count('abandoned');
  return {
    ...emptyReport,
    checked: released.length,
    rerun: count('rerun'),
    abandoned: abandoned === 0 ? {} : { [ownerLost]: abandoned },
    paused: count('paused'),
    stopped: count('stopped'),
  };
}

export function addReports(a: RecoveryReport, b: RecoveryReport): RecoveryReport {
  return {
    checked: a.checked + b.checked,
    adopted: a.adopted + b.adopted,
    rerun: a.rerun + b.rerun,
    abandoned: sumByReason(a.abandoned, b.abandoned),
    unverified: a.unverified + b.unverified,
    paused: a.paused + b.paused,
    stopped: a.stopped + b.stopped,
  };
}

function sumByReason(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> {
  const sums: Record<string, number> = { ...a };
  for (const [reason, count] of Object.entries(b)) sums[reason] = (sums[reason] ?? 0) + count;
  return sums;
}
