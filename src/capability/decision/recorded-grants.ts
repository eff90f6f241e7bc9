import type { AuditRecord } from '../../audit/audit-record.js';
import type { CapabilityId, Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { inheritedRights, ownRights } from '../holding/grants.js';
import { rightsOfMask } from '../resource/rights.js';

/** The origin of a capability, as the record of its grant tells it. */
export interface RecordedGrant {
  readonly capability: CapabilityId;
  /** Its first holder. */
  readonly holder: Pid;
  readonly seq: number;
  /** Empty where it was erased, and where the record was read without its payload. */
  readonly resource: string;
  readonly rights: readonly string[];
  readonly grantedBy: string;
  readonly parent: CapabilityId | null;
  /** It survives exec. */
  readonly own?: true;
  /** Absent: a record of an older version, which does not tell them. */
  readonly limits?: { readonly expiresAt?: number };
}

export interface RecordedTransfer {
  readonly capability: CapabilityId;
  readonly seq: number;
  readonly from: Pid;
  readonly to: Pid;
}

const grantActions: ReadonlySet<string> = new Set([
  'capability.grant',
  'capability.delegate',
  'capability.derive',
  'memory.share',
  'approval.answer',
]);
export const spawnActions: ReadonlySet<string> = new Set(['process.spawn', 'process.spawnChild', 'process.fork']);

/** Whether a body may tell of a grant or a transfer. */
export function mayTellOfGrants(body: string): boolean {
  return body.includes('"outcome":"ok"') && /"(?:capability|capabilities|inherited|reading)":/.test(body);
}

/** The capabilities that a record gives to somebody. */
export function grantsIn(record: AuditRecord): RecordedGrant[] {
  if (record.outcome !== 'ok') return [];
  return [...ownOf(record), ...singleOf(record), ...listedOf(record), ...attachedOf(record), ...inheritedOf(record)];
}

/** Whether a record is the end of its target. */
export function isEnd({ facts }: AuditRecord): boolean {
  return facts?.outcome !== undefined && facts.result !== undefined;
}

export function transferIn(record: AuditRecord): RecordedTransfer | undefined {
  const { action, outcome, seq, capability, target, facts } = record;
  if (action !== 'capability.transfer' || outcome !== 'ok' || capability === undefined) return undefined;
  return { capability, seq, from: String(facts?.from), to: target ?? '' };
}

/** The first capability of a process is on its own namespace. */
function ownOf({ action, seq, target = '', facts }: AuditRecord): RecordedGrant[] {
  if (!spawnActions.has(action) || !Array.isArray(facts?.capabilities)) return [];
  const [own] = facts.capabilities;
  if (typeof own !== 'string') return [];
  const resource = namespacePattern(target);
  const rights = rightsOfMask(ownRights);
  const grant = { capability: own, holder: target, seq, resource, rights, grantedBy: 'kernel', parent: null };
  return [{ ...grant, own: true, limits: {} }];
}

/** An answer grants a capability where it names its rights; otherwise it names the capability that was used. */
function singleOf(record: AuditRecord): RecordedGrant[] {
  const { action, seq, capability, approval, target = '', facts } = record;
  if (!grantActions.has(action) || capability === undefined || !Array.isArray(facts?.rights)) return [];
  return [
    {
      capability,
      holder: target,
      seq,
      resource: action === 'memory.share' ? `object:${String(facts.object)}` : (record.resource ?? ''),
      rights: facts.rights.map(String),
      grantedBy: action === 'approval.answer' ? `approval:${approval}` : String(facts.from ?? 'host'),
      parent: textOrNull(facts.parent),
      ...limitsIn(facts),
    },
  ];
}

/** Capabilities that come with a spawn, an exec or an end. */
function listedOf({ seq, target = '', facts, payload }: AuditRecord): RecordedGrant[] {
  if (!Array.isArray(facts?.authority)) return [];
  const resources = Array.isArray(payload?.resources) ? payload.resources : [];
  return facts.authority.flatMap((item, index) => {
    const { capability, to, from, rights, parent, limits } = membersOf(item);
    if (typeof capability !== 'string' || !Array.isArray(rights)) return [];
    return {
      capability,
      holder: textOrNull(to) ?? target,
      seq,
      resource: textOrNull(resources[index]) ?? '',
      rights: rights.map(String),
      grantedBy: String(from),
      parent: textOrNull(parent),
      ...limitsIn({ limits }),
    };
  });
}

/** Objects that are attached to a message; what the receiver could read already is not granted, and has no limits there. */
function attachedOf({ action, actor, seq, target = '', facts }: AuditRecord): RecordedGrant[] {
  if (action !== 'message.send' || !Array.isArray(facts?.given)) return [];
  return facts.given.flatMap((item) => {
    const { object, reading, parent, limits } = membersOf(item);
    // Older versions tell no limits; all that the host attached was granted.
    const isGranted = limits !== undefined || parent !== undefined || actor === 'host';
    if (typeof reading !== 'string' || !isGranted) return [];
    return {
      capability: reading,
      holder: target,
      seq,
      resource: `object:${String(object)}`,
      rights: ['read'],
      grantedBy: actor,
      parent: textOrNull(parent),
      ...limitsIn({ limits }),
    };
  });
}

/** The capability that a parent gets at the end of a child, on the namespace of the child. */
function inheritedOf(record: AuditRecord): RecordedGrant[] {
  const { seq, target = '', facts } = record;
  if (!isEnd(record) || typeof facts?.inherited !== 'string' || typeof facts.heir !== 'string') return [];
  return [{ ...inheritedGrant(facts.inherited, facts.heir, target, seq), limits: {} }];
}

/** Without limits: only the end that names the capability tells that it has none. */
export function inheritedGrant(capability: CapabilityId, holder: Pid, child: Pid, seq: number): RecordedGrant {
  const rights = rightsOfMask(inheritedRights);
  const resource = namespacePattern(child);
  return { capability, holder, seq, resource, rights, grantedBy: child, parent: null };
}

/** The pattern of all objects that a process makes. */
export function namespacePattern(pid: Pid): string {
  return `ns:process/${pid}/**`;
}

function limitsIn({ limits }: { readonly limits?: JsonValue | undefined }): Pick<RecordedGrant, 'limits'> {
  if (limits === undefined) return {};
  const { expiresAt } = membersOf(limits);
  return { limits: typeof expiresAt === 'number' ? { expiresAt } : {} };
}

function membersOf(item: JsonValue): { readonly [name: string]: JsonValue | undefined } {
  return typeof item === 'object' && item !== null ? Object.fromEntries(Object.entries(item)) : {};
}

function textOrNull(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
