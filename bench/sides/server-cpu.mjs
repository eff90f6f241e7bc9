import { readdirSync, readFileSync } from 'node:fs';

/** The unit of times in /proc. */
const ticksPerSecond = 100;

/** CPU time of a PostgreSQL server and its backends, ended ones included; 0 where its process is not known. */
export function serverCpuUs({ postmaster }) {
  if (postmaster === undefined) return 0;
  let ticks = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const stat = statOf(pid);
    if (Number(pid) === postmaster) ticks += stat.own + stat.reaped;
    else if (stat?.parent === postmaster) ticks += stat.own;
  }
  return (ticks / ticksPerSecond) * 1e6;
}

/** Undefined for a process that has ended meanwhile. */
function statOf(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    const [user, system, reapedUser, reapedSystem] = fields.slice(11, 15).map(Number);
    return { parent: Number(fields[1]), own: user + system, reaped: reapedUser + reapedSystem };
  } catch {
    return undefined;
  }
}
