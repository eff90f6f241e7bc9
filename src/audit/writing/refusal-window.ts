import { hash } from 'node:crypto';
import type { JsonObject } from '../../base/json.js';
import type { AuditEntry } from '../audit-entry.js';

const resourcesMax = 100;
const groupsMax = 4096;
/** The most hashes in all groups together: it bounds the window to a few megabytes. */
const hashesMax = 32_768;
/** The most groups that the summary lists: it bounds the size of its record. */
const namedGroupsMax = 256;

interface RefusalGroup {
  readonly actor: string;
  readonly right: string;
  readonly kind: string;
  readonly code: string;
  /** Hashes of the resources (or targets) whose refusals were recorded; hashes, because the texts may be long. */
  readonly resources: Set<string>;
  count: number;
}

/** The refusals of one minute: which of them have records, and how many were only counted. */
export class RefusalWindow {
  private readonly groups = new Map<string, RefusalGroup>();
  /** The number of refusals that belong to no group because there are too many groups. */
  private ungrouped = 0;
  private hashCount = 0;

  constructor(readonly from: number) {}

  /** Whether this refusal gets a record of its own; if not, it is counted. */
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

  /** The facts of the summary, or undefined when every refusal has a record. */
  counts(): JsonObject | undefined {
    const counted = [...this.groups.values()].filter(({ count }) => count > 0).sort((a, b) => b.count - a.count);
    const total = counted.reduce((sum, { count }) => sum + count, this.ungrouped);
    if (total === 0) return undefined;
    const counts = counted
      .slice(0, namedGroupsMax)
      .map(({ actor, right, kind, code, count }) => ({ actor, right, kind, code, count }));
    return { from: this.from, total, counts };
  }

  /** Refusals without a right are grouped by their action. */
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

/** `tool` of `tool:send_mail`, or '': other text must not get into the body, which cannot be erased. */
function kindOf(resource: string): string {
  return kindForm.exec(resource)?.[1] ?? '';
}
