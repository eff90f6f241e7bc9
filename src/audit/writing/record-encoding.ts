import { canonicalJson } from '../../base/canonical.js';
import type { Entropy } from '../../base/entropy.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import type { AuditEntry, NewAuditEntry } from '../audit-entry.js';
import { bodyHash, commitmentOf, type Hash } from './hashing.js';

/** The members of a body, in the order that RFC 8785 gives them. */
export interface AuditBody extends Omit<AuditEntry, 'resource' | 'payload' | 'subject'> {
  readonly id: string;
  readonly node: string;
  /** Commitment to the payload, where there is one. */
  readonly commitment?: Hash;
}

interface EncodedPayload {
  readonly salt: Buffer;
  /** Canonical JSON of the payload with the resource among its members. */
  readonly bytes: string;
}

/** A record that has everything but its place in the log. */
export interface EncodedEntry {
  readonly body: string;
  readonly bodyHash: Hash;
  readonly payload?: EncodedPayload;
  readonly subject?: Pid | ObjectId;
}

/**
 * Throws on text that is not well-formed Unicode: it has no canonical form. Done while the unit runs, so that what
 * cannot be encoded is refused with its unit and not with the whole group.
 */
export function encodeEntry(id: string, node: string, entry: NewAuditEntry, salt: () => Buffer): EncodedEntry {
  const payload = encodePayload(entry, salt);
  const commitment = payload === undefined ? undefined : commitmentOf(payload.salt, payload.bytes);
  const body = bodyText(id, node, entry, commitment);
  return {
    body,
    bodyHash: bodyHash(body),
    ...(payload === undefined ? {} : { payload }),
    ...(entry.subject === undefined ? {} : { subject: entry.subject }),
  };
}

/** RFC 8785 text of the header; `log` is the JSON text of the log's id. */
export function headerText(body: Hash, log: string, prev: Hash, seq: number): string {
  return `{"body":"${body}","log":${log},"prev":"${prev}","seq":${seq}}`;
}

const saltBytes = 16;

export function freshSalt(entropy: Entropy): Buffer {
  return entropy.bytes(saltBytes);
}

function encodePayload(entry: NewAuditEntry, salt: () => Buffer): EncodedPayload | undefined {
  if (entry.resource === undefined && entry.payload === undefined) return undefined;
  const content: JsonObject = entry.resource === undefined ? {} : { resource: entry.resource };
  return { salt: salt(), bytes: canonicalJson({ ...entry.payload, ...content }) };
}

/** Writes the members one by one: sorting them for every record would cost three times as much. */
function bodyText(id: string, node: string, entry: NewAuditEntry, commitment: Hash | undefined): string {
  let out = `{"action":${text(entry.action)},"actor":${text(entry.actor)}`;
  if (entry.after !== undefined) out += `,"after":${text(entry.after)}`;
  if (entry.approval !== undefined) out += `,"approval":${text(entry.approval)}`;
  out += `,"at":${JSON.stringify(entry.at)}`;
  if (entry.before !== undefined) out += `,"before":${text(entry.before)}`;
  if (entry.capability !== undefined) out += `,"capability":${text(entry.capability)}`;
  if (entry.cause !== undefined) out += `,"cause":${text(entry.cause)}`;
  if (entry.code !== undefined) out += `,"code":${text(entry.code)}`;
  if (commitment !== undefined) out += `,"commitment":"${commitment}"`;
  if (entry.decision !== undefined) out += `,"decision":${text(entry.decision)}`;
  if (entry.effectId !== undefined) out += `,"effectId":${text(entry.effectId)}`;
  if (entry.facts !== undefined) out += `,"facts":${canonicalJson(entry.facts)}`;
  if (entry.generation !== undefined) out += `,"generation":${JSON.stringify(entry.generation)}`;
  out += `,"id":${text(id)},"node":${text(node)},"outcome":${text(entry.outcome)}`;
  if (entry.right !== undefined) out += `,"right":${text(entry.right)}`;
  if (entry.target !== undefined) out += `,"target":${text(entry.target)}`;
  return `${out},"via":${text(entry.via)}}`;
}

const plainAscii = /^[ !#-[\]-~]*$/;

function text(value: string): string {
  return plainAscii.test(value) ? `"${value}"` : canonicalJson(value);
}

const commitmentKey = '"commitment":"';

/**
 * The commitment in a canonical body, without parsing it. Quotes inside texts are escaped, and what `facts` may hold
 * under the same name comes after the start of `facts`, so the first hit before it is the member itself.
 */
export function commitmentIn(body: string): Hash | undefined {
  const at = body.indexOf(commitmentKey);
  if (at < 0 || body.lastIndexOf('"facts":', at) >= 0) return undefined;
  const start = at + commitmentKey.length;
  return body.slice(start, start + 64);
}
