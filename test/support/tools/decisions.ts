import { createHash } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { Approval, JsonValue, Kernel } from '../../../src/index.js';
import { openRawTables } from '../storage/raw-tables.js';

/** What a person was asked about: the arguments as shown, and the hash of the real ones that the answer is bound to. */
export interface Decided {
  readonly args: JsonValue;
  readonly argsHash: string;
}

/** Answers every question of this kernel with `once`. The questions are collected in their order. */
export function approveAll(kernel: Kernel, store: string): { take(): Decided[] } {
  const tables = openRawTables(store);
  let decided: Decided[] = [];
  const listener = kernel.events.on('approval.requested', async ({ data: { approval: id } }) => {
    const { args } = (await kernel.approvals.list()).find((approval) => approval.id === id) as Approval;
    const row = await tables.find<{ args_hash: string }>('approvals', { id });
    decided.push({ args, argsHash: row?.args_hash ?? '' });
    await kernel.approvals.answer(id, { decision: 'once', by: 'ann' });
  });
  onTestFinished(() => listener[Symbol.dispose]());
  return {
    take: () => {
      const taken = decided;
      decided = [];
      return taken;
    },
  };
}

/** The SHA-256 of arguments, worked out apart from the kernel. Fails for anything but plain, frozen data. */
export function hashOfPlain(value: unknown): string {
  return createHash('sha256').update(canonicalText(value)).digest('hex');
}

function canonicalText(value: unknown): string {
  if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0)))
    throw new Error('a number that JSON does not have');
  if (typeof value === 'string' && !value.isWellFormed()) throw new Error('a text that is not well-formed');
  if (typeof value !== 'object' || value === null) {
    const text = JSON.stringify(value);
    if (text === undefined) throw new Error(`a ${typeof value} among the arguments`);
    return text;
  }
  const members = Object.entries(Object.getOwnPropertyDescriptors(value)).filter(
    ([name]) => !(Array.isArray(value) && name === 'length'),
  );
  if (members.some(([, member]) => !('value' in member) || member.enumerable !== true || member.writable === true))
    throw new Error('a member that may change or does not show');
  if (Array.isArray(value)) {
    if (members.length !== value.length) throw new Error('an array with holes or with other members');
    return `[${value.map(canonicalText).join(',')}]`;
  }
  if (Object.getOwnPropertySymbols(value).length > 0) throw new Error('a member that is named by a symbol');
  const sorted = members.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${sorted.map(([name, member]) => `${JSON.stringify(name)}:${canonicalText(member.value)}`).join(',')}}`;
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}
