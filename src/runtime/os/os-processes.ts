import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { injectable } from 'inversify';
import { type Token, token } from '../../base/token.js';
import type { HostIdentity } from '../../kernel/node/node-repository.js';
import { pidExists, readTrimmed, statOf } from './proc-files.js';

/** Identifies programs of the operating system. */
export interface OsProcesses {
  /** The program that this kernel runs in. */
  self(): HostIdentity;
  /** Whether the very same program still runs; undefined when that cannot be decided here. False is a proof. */
  isAlive(host: HostIdentity): boolean | undefined;
}
export const OsProcesses: Token<OsProcesses> = token('OsProcesses');

/**
 * A pid alone proves nothing, because the system reuses it. On Linux the start time and the id of the boot make it unique;
 * elsewhere a program is only known to be dead when its pid is free.
 */
@injectable()
export class SystemOsProcesses implements OsProcesses {
  private identity: HostIdentity | undefined;

  self(): HostIdentity {
    this.identity ??= {
      machine: machineId(),
      boot: readTrimmed('/proc/sys/kernel/random/boot_id') ?? '',
      pid: process.pid,
      startTicks: statOf(process.pid)?.startTicks ?? '',
    };
    return this.identity;
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
 * Identifies the pid namespace. Images of machines and containers are copied together with their machine id, so the host
 * name is a part of it. After a rename of the machine nothing can be decided, which is safer than a wrong decision.
 */
function machineId(): string {
  const parts = [readTrimmed('/etc/machine-id') ?? '', hostname(), pidNamespace() ?? ''];
  return parts.filter((part) => part !== '').join(' ');
}

function pidNamespace(): string | undefined {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    // Not Linux, or not readable: the other parts of the id have to do.
    return undefined;
  }
}
