import { StoreError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';

/** The refusal to move a store to a place that is in use. */
export function notVacant(place: string, facts: JsonObject): StoreError {
  return new StoreError(
    'STORE_NOT_VACANT',
    `A store cannot be moved to ${place}, which holds one. It was left alone.`,
    {
      facts,
      hint: 'Name a file that is not there, or another schema: add ?schema=NAME to the address.',
    },
  );
}
