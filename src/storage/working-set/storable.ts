import { type InputError, invalidInput } from '../../base/errors.js';

/** Whether every engine keeps a value as it is: PostgreSQL has no character with the code 0, and JavaScript no integers beyond 2^53. */
export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0');
  return typeof value !== 'number' || Number.isSafeInteger(value);
}

/** The refusal of a value that callers were not refused before; its unit is undone, and those beside it are not. */
export function notStorable(place: string): InputError {
  return invalidInput(
    place,
    'is a text with a NUL character, or a number that is no integer up to 2^53',
    'Leave out characters with the code 0, and give whole numbers that a double holds exactly.',
  );
}
