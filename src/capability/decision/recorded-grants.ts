import type { AuditRecord } from '../../audit/audit-record.js';
import type { CapabilityId, Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { ownRights } from '../holding/grants.js';
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
}

export interface RecordedTransfer {
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
  return body.includes('"outcome":"ok"') && /"(?:capability|capabilities|reading)":/.test(body);
}

/** The capabilities that a record gives to somebody. */
export function grantsIn(record: AuditRecord): RecordedGrant[] {
  if (record.outcome !== 'ok') return [];
  return [...ownOf(record), ...singleOf(record), ...listedOf(record), ...attachedOf(record)];
}

export function transferIn({ action, outcome, seq, capability, target, facts }: AuditRecord, id: CapabilityId) {
  if (action !== 'capability.transfer' || outcome !== 'ok' || capability !== id) return undefined;
  return { seq, from: String(facts?.from), to: target ?? '' };
}

/** The first capability of a process is on its own namespace. */
function ownOf({ action, seq, target = '', facts }: AuditRecord): RecordedGrant[] {
  if (!spawnActions.has(action) || !Array.isArray(facts?.capabilities)) return [];
  const [own] = facts.capabilities;
  if (typeof own !== 'string') return [];
  const resource = `ns:process/${target}/**`;
  const rights = rightsOfMask(ownRights);
  return [{ capability: own, holder: target, seq, resource, rights, grantedBy: 'kernel', parent: null }];
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
    },
  ];
}

/** Capabilities that come with a spawn, an exec or an end. */
function listedOf({ seq, target = '', facts, payload }: AuditRecord): RecordedGrant[] {
  if (!Array.isArray(facts?.authority)) return [];
  const resources = Array.isArray(payload?.resources) ? payload.resources : [];
  return facts.authority.flatMap((item, index) => {
    const { capability, to, from, rights, parent } = membersOf(item);
    if (typeof capability !== 'string' || !Array.isArray(rights)) return [];
    return {
      capability,
      holder: textOrNull(to) ?? target,
      seq,
      resource: textOrNull(resources[index]) ?? '',
      rights: rights.map(String),
      grantedBy: String(from),
      parent: textOrNull(parent),
    };
  });
}

/** Objects that are attached to a message; one that the receiver could read already has no parent there. */
function attachedOf({ action, actor, seq, target = '', facts }: AuditRecord): RecordedGrant[] {
  if (action !== 'message.send' || !Array.isArray(facts?.given)) return [];
  return facts.given.flatMap((item) => {
    const { object, reading, parent } = membersOf(item);
    if (typeof reading !== 'string' || typeof parent !== 'string') return [];
    const resource = `object:${String(object)}`;
    return { capability: reading, holder: target, seq, resource, rights: ['read'], grantedBy: actor, parent };
  });
}

function membersOf(item: JsonValue): { readonly [name: string]: JsonValue | undefined } {
  return typeof item === 'object' && item !== null ? Object.fromEntries(Object.entries(item)) : {};
}

function textOrNull(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
