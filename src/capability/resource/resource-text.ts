import { type InputError, invalidInput } from '../../base/errors.js';

const resourceBytesMax = 4096;

/**
 * The one spelling of a resource text: well-formed, bounded, without control characters, in NFC.
 * Throws INVALID_INPUT for any other text.
 */
export function canonicalText(text: string): string {
  if (printable.test(text) && text.length <= resourceBytesMax) return text;
  if (typeof text !== 'string') throw badResource('', 'is not a text', 'Write it as kind:name, such as "tool:search".');
  checkBytes(text);
  if (!text.isWellFormed()) throw badResource(text, 'has a lone surrogate', 'Give well-formed Unicode text.');
  if (controls.test(text)) {
    throw badResource(text, 'has control or bidi characters', 'Remove the characters that do not print.');
  }
  const canonical = text.normalize('NFC');
  checkBytes(canonical);
  return canonical;
}

/** Refuses names that only look like another one: compatibility forms such as full-width letters and ligatures. */
export function checkIdentifier(text: string): void {
  if (printable.test(text)) return;
  const plain = text.normalize('NFKC');
  if (plain === text) return;
  throw badResource(text, 'has characters that are other forms of plain ones', `Write it as ${JSON.stringify(plain)}.`);
}

/** INVALID_INPUT about a resource; the text itself is a fact, bounded and well-formed. */
export function badResource(text: string, problem: string, hint: string): InputError {
  return invalidInput('resource', problem, hint, { resource: text.slice(0, 200).toWellFormed() });
}

/** Plain ASCII has one spelling, which is what nearly every resource has. */
const printable = /^[\x20-\x7e]*$/;
// C0, DEL and C1, then the bidi controls.
const controls = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

function checkBytes(text: string): void {
  if (text.length <= resourceBytesMax && Buffer.byteLength(text) <= resourceBytesMax) return;
  throw badResource(text, `is longer than ${resourceBytesMax} bytes`, 'Use a shorter name.');
}
