import { spawnSync } from 'node:child_process';

/** Whether a process of the operating system runs. One that has ended and was not asked for yet still has a number. */
export function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z');
}
