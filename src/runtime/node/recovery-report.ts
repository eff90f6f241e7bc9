import { ownerLost, type Released, type ReleasedProcess } from './releases.js';

/** What became of the processes of nodes that are gone. */
export interface RecoveryReport {
  /** Processes that such a node held. */
  readonly checked: number;
  /** Commands that went on without their kernel, and are watched again. */
  readonly adopted: number;
  /** To be run again over what they have done so far. */
  readonly rerun: number;
  /** By reason. */
  readonly abandoned: Readonly<Record<string, number>>;
  /** Commands of which nobody here can say what became of them. */
  readonly unverified: number;
  readonly paused: number;
  /** Were being stopped already, and have ended. */
  readonly stopped: number;
}

export const noneRecovered: RecoveryReport = {
  checked: 0,
  adopted: 0,
  rerun: 0,
  abandoned: {},
  unverified: 0,
  paused: 0,
  stopped: 0,
};

export function isNothing({ adopted, abandoned, unverified, stopped }: RecoveryReport): boolean {
  return adopted + unverified + stopped + Object.keys(abandoned).length === 0;
}

export function tally(all: readonly ReleasedProcess[]): RecoveryReport {
  const count = (kind: Released) => all.filter(({ released }) => released === kind).length;
  const abandoned = count('abandoned');
  return {
    ...noneRecovered,
    checked: all.length,
    rerun: count('rerun'),
    abandoned: abandoned === 0 ? {} : { [ownerLost]: abandoned },
    paused: count('paused'),
    stopped: count('stopped'),
  };
}

export function sumOf(a: RecoveryReport, b: RecoveryReport): RecoveryReport {
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
