import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { injectable } from 'inversify';
import { type Token, token } from '../../base/token.js';
import type { HostIdentity } from '../../kernel/node/node-repository.js';
import { pidExists, readTrimmed, statOf } from './proc-files.js';

/** What the operating system knows of programs. */
export interface OsProcesses {
  /** The program that this kernel runs in. */
  self(): HostIdentity;
  /** Whether that very program still runs; undefined when it cannot be judged from here. Only false is a proof. */
  isAlive(host: HostIdentity): boolean | undefined;
}
export const OsProcesses: Token<OsProcesses> = token('OsProcesses');

/**
 * A pid alone proves nothing: it may belong to somebody else by now. On Linux the time of its start and the id of the
 * boot make it unique; elsewhere a program is only known to be dead when nobody has its pid.
 */
@injectable()
export class SystemOsProcesses implements OsProcesses {
  private own: HostIdentity | undefined;

  self(): HostIdentity {
    this.own ??= {
      machine: machineId(),
      boot: readTrimmed('/proc/sys/kernel/random/boot_id') ?? '',
      pid: process.pid,
      startTicks: statOf(process.pid)?.startTicks ?? '',
    };
    return this.own;
  }

  isAlive(host: HostIdentity): boolean | undefined {
    const { machine, boot } = this.self();
    if (host.machine !== machine) return undefined;
    if (host.boot !== boot) return isUnknown(host.boot, boot) ? undefined : false;
    const stat = statOf(host.pid);
    if (stat === undefined) return pidExists(host.pid) ? undefined : false;
    if (stat.isDefunct) return false;
    return isUnknown(host.startTicks, stat.startTicks) ? undefined : host.startTicks === stat.startTicks;
  }
}

function isUnknown(...values: readonly string[]): boolean {
  return values.includes('');
}

/**
 * Where pids mean the same. Images of machines and containers are copied together with their machine id, so the name of
 * the host is a part of it: a machine that is renamed is not judged, one that is mistaken for another would be.
 */
function machineId(): string {
  const parts = [readTrimmed('/etc/machine-id') ?? '', hostname(), pidNamespace() ?? ''];
  return parts.filter((part) => part !== '').join(' ');
}

function pidNamespace(): string | undefined {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    // Not Linux, or not allowed to look: the rest of the id has to do.
    return undefined;
  }
}
