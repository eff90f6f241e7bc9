import { spawnSync } from 'node:child_process';

/** Whether a process of the operating system runs. One that has ended and was not asked for yet still has a number. */
export function isAlive(pid: number): boolean {
  const state = stateOf(pid);
  return state !== '' && !state.startsWith('Z');
}

/** Whether it stands still by a signal. */
export function isStopped(pid: number): boolean {
  return stateOf(pid).startsWith('T');
}

function stateOf(pid: number): string {
  return spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
}
