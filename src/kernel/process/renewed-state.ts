import type { JsonObject, JsonValue } from '../../base/json.js';
import type { RunEntry } from './run-entry-repository.js';

/** The key of the entry with the state; keys of calls have an ordinal. */
const stateKey = 'state';

/** The state that a body was renewed with, and how often it has been. */
export interface RenewedState {
  readonly state: JsonValue;
  readonly renewals: number;
}

export function isStateKey(key: string): boolean {
  return key === stateKey;
}

/** The state in a journal; undefined for a body that was never renewed. */
export function findRenewedState(entries: readonly RunEntry[]): RenewedState | undefined {
  const entry = entries.find(({ key }) => key === stateKey);
  if (entry === undefined) return undefined;
  const { state, renewals } = entry.value as JsonObject;
  return { state: state ?? null, renewals: Number(renewals) };
}

/** The first entry of the journal of a body that begins anew. */
export function stateEntry(
  place: Pick<RunEntry, 'process' | 'fence' | 'at'>,
  { state, renewals }: RenewedState,
): RunEntry {
  return { ...place, key: stateKey, seq: 1, status: 'done', value: { state, renewals }, attempt: 1, dueAt: null };
}
