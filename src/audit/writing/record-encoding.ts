import { hash } from 'node:crypto';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { Hash } from '../../base/json.js';
import { canonicalJson, type JsonObject } from '../../base/json.js';
import type { AuditEntry, NewAuditEntry } from '../audit-entry.js';

/** The members of a body, in the order that RFC 8785 gives them. */
export interface AuditBody extends Omit<AuditEntry, 'resource' | 'payload' | 'subject'> {
  /** The id of the record. */
  readonly id: string;
  /** The node that wrote it. */
  readonly node: string;
  /** The hash of salt and payload; absent for a record without a payload. */
  readonly commitment?: Hash;
}

interface EncodedPayload {
  readonly salt: Buffer;
  /** Canonical JSON of the payload, with the resource as one of its members. */
  readonly bytes: string;
}

/** A record without its number and its link to the record before it. */
export interface EncodedEntry {
  readonly body: string;
  readonly bodyHash: Hash;
  readonly payload?: EncodedPayload;
  readonly subject?: Pid | ObjectId;
  /** The effect whose outcome it is. */
  readonly endedEffect?: string;
}

/**
 * Encodes an entry while its unit runs, so that an entry that cannot be encoded fails its unit and not the whole group.
 * Throws on text that is not well-formed Unicode, which has no canonical form.
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

/** `prev` of the first record. */
export const zeroHash: Hash = '0'.repeat(64);

/** The RFC 8785 text of a header; `log` is the JSON text of the log's id. */
export function headerText(body: Hash, log: string, prev: Hash, seq: number): string {
  return `{"body":"${body}","log":${log},"prev":"${prev}","seq":${seq}}`;
}

/** The hash of a record: link of the chain and leaf of the tree. */
export function headerHash(header: string): Hash {
  return hash('sha256', `\x00${header}`, 'hex');
}

export function bodyHash(body: string): Hash {
  return hash('sha256', `\x02${body}`, 'hex');
}

const scratch = Buffer.alloc(8192);

/** Binds a payload to its record. Without the salt, an erased payload could be guessed and the guess checked. */
export function commitmentOf(salt: Uint8Array, payload: string): Hash {
  const bytesMax = 1 + salt.length + payload.length * 3;
  const bytes = bytesMax <= scratch.length ? scratch : Buffer.allocUnsafe(bytesMax);
  bytes[0] = 3;
  bytes.set(salt, 1);
  const end = 1 + salt.length + bytes.write(payload, 1 + salt.length);
  return hash('sha256', bytes.subarray(0, end), 'hex');
}

function encodePayload(entry: NewAuditEntry, salt: () => Buffer): EncodedPayload | undefined {
  if (entry.resource === undefined && entry.payload === undefined) return undefined;
  const content: JsonObject = entry.resource === undefined ? {} : { resource: entry.resource };
  return { salt: salt(), bytes: canonicalJson({ ...entry.payload, ...content }) };
}

/** Writes the members one by one: sorting them for every record would cost three times as much. */
function bodyText(id: string, node: string, entry: NewAuditEntry, commitment: Hash | undefined): string {
  let out = `{"action":${quote(entry.action)},"actor":${quote(entry.actor)}`;
  if (entry.after !== undefined) out += `,"after":${quote(entry.after)}`;
  if (entry.approval !== undefined) out += `,"approval":${quote(entry.approval)}`;
  out += `,"at":${JSON.stringify(entry.at)}`;
  if (entry.before !== undefined) out += `,"before":${quote(entry.before)}`;
  if (entry.capability !== undefined) out += `,"capability":${quote(entry.capability)}`;
  if (entry.cause !== undefined) out += `,"cause":${quote(entry.cause)}`;
  if (entry.code !== undefined) out += `,"code":${quote(entry.code)}`;
  if (commitment !== undefined) out += `,"commitment":"${commitment}"`;
  if (entry.decision !== undefined) out += `,"decision":${quote(entry.decision)}`;
  if (entry.effectId !== undefined) out += `,"effectId":${quote(entry.effectId)}`;
  if (entry.facts !== undefined) out += `,"facts":${canonicalJson(entry.facts)}`;
  if (entry.generation !== undefined) out += `,"generation":${JSON.stringify(entry.generation)}`;
  out += `,"id":${quote(id)},"node":${quote(node)},"outcome":${quote(entry.outcome)}`;
  if (entry.right !== undefined) out += `,"right":${quote(entry.right)}`;
  if (entry.target !== undefined) out += `,"target":${quote(entry.target)}`;
  return `${out},"via":${quote(entry.via)}}`;
}

const plainAscii = /^[ !#-[\]-~]*$/;

function quote(value: string): string {
  return plainAscii.test(value) ? `"${value}"` : canonicalJson(value);
}

const commitmentKey = '"commitment":"';

/**
 * Finds the commitment in a canonical body without parsing it. Quotes inside texts are escaped, and a member of `facts`
 * with the same name stands behind the start of `facts`, so the first match before that is the member itself.
 */
export function commitmentIn(body: string): Hash | undefined {
  const keyIndex = body.indexOf(commitmentKey);
  if (keyIndex < 0 || body.lastIndexOf('"facts":', keyIndex) >= 0) return undefined;
  const start = keyIndex + commitmentKey.length;
  return body.slice(start, start + 64);
}
