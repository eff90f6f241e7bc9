import type { JsonValue } from '../../index.js';
import type { CallingFace } from './calling-face.js';
import { type ToolErrorValue, toolErrorValue } from './tool-error-value.js';

/** The result of a call for a model. */
export type CalledValue =
  | { readonly value: JsonValue; readonly isError?: never }
  | { readonly value: ToolErrorValue; readonly isError: true };

/**
 * The result of `call`, or its refusal or failure as a value that a model reads. Throws an error that ends the run, and any
 * error of a call that its caller gave up by `signal`.
 */
export async function callAsValue(
  face: CallingFace,
  call: () => Promise<JsonValue>,
  signal?: AbortSignal,
): Promise<CalledValue> {
  try {
    return { value: await call() };
  } catch (error) {
    if (signal?.aborted === true) throw error;
    return { value: toolErrorValue(face, error), isError: true };
  }
}
