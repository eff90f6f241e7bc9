import { hash } from 'node:crypto';
import type { JsonObject } from '../../base/json.js';
import type { AuditEntry } from '../audit-entry.js';

const resourcesMax = 100;
const groupsMax = 4096;
/** Over all groups: what the window remembers stays within a few megabytes. */
const hashesMax = 32_768;
/** The groups that the summary names; a record must stay a record. */
const namedGroupsMax = 256;

interface RefusalGroup {
  readonly actor: string;
  readonly right: string;
  readonly kind: string;
  readonly code: string;
  /** Hashes of the resources, or else the targets, that were recorded whole; texts could be long. */
  readonly resources: Set<string>;
  count: number;
}

/** The refusals of one minute: which were recorded whole, and how many were not. */
export class RefusalWindow {
  private readonly groups = new Map<string, RefusalGroup>();
  /** Refusals of actors and codes that there was no room to count one by one. */
  private ungrouped = 0;
  private hashCount = 0;

  constructor(readonly from: number) {}

  /** Whether this one is to be recorded whole; otherwise it has been counted. */
  admit(entry: AuditEntry): boolean {
    const group = this.groupOf(entry);
    if (group === undefined) {
      this.ungrouped++;
      return false;
    }
    const resource = hash('sha256', entry.resource ?? entry.target ?? '', 'base64');
    const full = group.resources.size >= resourcesMax || this.hashCount >= hashesMax;
    if (full || group.resources.has(resource)) {
      group.count++;
      return false;
    }
    group.resources.add(resource);
    this.hashCount++;
    return true;
  }

  /** What was counted, or undefined when everything was recorded. */
  counts(): JsonObject | undefined {
    const counted = [...this.groups.values()].filter(({ count }) => count > 0).sort((a, b) => b.count - a.count);
    const total = counted.reduce((sum, { count }) => sum + count, this.ungrouped);
    if (total === 0) return undefined;
    const counts = counted
      .slice(0, namedGroupsMax)
      .map(({ actor, right, kind, code, count }) => ({ actor, right, kind, code, count }));
    return { from: this.from, total, counts };
  }

  /** What asks for no right is told apart by what was asked. */
  private groupOf({ actor, action, right = action, code = '', resource = '' }: AuditEntry): RefusalGroup | undefined {
    const kind = kindOf(resource);
    const key = JSON.stringify([actor, right, kind, code]);
    const known = this.groups.get(key);
    if (known !== undefined || this.groups.size >= groupsMax) return known;
    const group: RefusalGroup = { actor, right, kind, code, resources: new Set(), count: 0 };
    this.groups.set(key, group);
    return group;
  }
}

const kindForm = /^([a-z][a-z0-9_-]{0,31}):/;

/** `tool` of `tool:send_mail`. Text that is no kind stays out of the body. */
function kindOf(resource: string): string {
  return kindForm.exec(resource)?.[1] ?? '';
}
