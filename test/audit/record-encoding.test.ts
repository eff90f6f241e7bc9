import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { AuditEntry } from '../../src/audit/audit-entry.js';
import { commitmentIn, encodeEntry, headerText } from '../../src/audit/writing/record-encoding.js';
import { canonicalJson, type JsonObject } from '../../src/base/json.js';

const text = fc.string({ unit: 'binary' }).filter((value) => value.isWellFormed());
const facts = fc
  .dictionary(fc.oneof(text, fc.constant('commitment'), fc.constant('facts')), fc.jsonValue())
  .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject)
  .filter((value) => JSON.stringify(value).isWellFormed() && isCanonical(value));
const entries: fc.Arbitrary<AuditEntry> = fc.record(
  {
    actor: text,
    via: text,
    action: text,
    outcome: fc.constantFrom('intent', 'ok', 'failed', 'refused', 'unknown'),
    at: fc.maxSafeNat(),
    target: text,
    generation: fc.nat(),
    right: text,
    decision: text,
    code: text,
    capability: text,
    approval: text,
    effectId: text,
    cause: text,
    before: text,
    after: text,
    facts,
    resource: text,
    payload: facts,
  },
  { requiredKeys: ['actor', 'via', 'action', 'outcome', 'at'] },
);
const salt = Buffer.alloc(16, 7);

it('writes the body as RFC 8785 has it, without resource and payload', () => {
  fc.assert(
    fc.property(entries, (entry) => {
      const { resource, payload, ...members } = entry;
      const { body, payload: stored } = encodeEntry('a_1', 'n_1', entry, () => salt);
      const commitment =
        stored === undefined
          ? undefined
          : hash('sha256', Buffer.concat([Buffer.from([3]), salt, Buffer.from(stored.bytes)]), 'hex');
      const expected = { ...members, id: 'a_1', node: 'n_1', ...(commitment === undefined ? {} : { commitment }) };
      expect(body).toBe(canonicalJson(expected));
      expect(commitmentIn(body)).toBe(commitment);
      expect(stored === undefined).toBe(resource === undefined && payload === undefined);
    }),
  );
});

it('writes the header as RFC 8785 has it', () => {
  const [body, prev] = ['a'.repeat(64), 'b'.repeat(64)];
  expect(headerText(body, JSON.stringify('l_"1"'), prev, 12)).toBe(
    canonicalJson({ log: 'l_"1"', seq: 12, prev, body }),
  );
});

it('puts the resource among the members of the payload, where no payload can replace it', () => {
  const entry: AuditEntry = { actor: 'host', via: 'host:x', action: 'a', outcome: 'ok', at: 1 };
  const encoded = encodeEntry(
    'a_1',
    'n_1',
    { ...entry, resource: 'tool:a', payload: { resource: 'tool:b' } },
    () => salt,
  );
  expect(encoded.payload).toEqual({ salt, bytes: '{"resource":"tool:a"}' });
});

it('refuses text that has no canonical form', () => {
  const entry: AuditEntry = { actor: 'host', via: 'host:x', action: '\ud800', outcome: 'ok', at: 1 };
  expect(() => encodeEntry('a_1', 'n_1', entry, () => salt)).toThrow('surrogate');
});

function isCanonical(value: JsonObject): boolean {
  try {
    return canonicalJson(value).length > 0;
  } catch {
    // Lone surrogates that JSON text may escape.
    return false;
  }
}
