import type { JsonObject, JsonValue } from '../../index.js';
import { type CalledValue, callAsValue } from '../shared/call-as-value.js';
import type { CallingFace } from '../shared/calling-face.js';
import { offeredTools, parseToolsForOptions, schemaOf, type ToolsForOptions } from '../shared/offered-tools.js';
import { page } from './page.js';

/** A tool of a process that any loop can offer to a model and call. */
export interface CallableTool {
  /** A name that every provider accepts. */
  readonly name: string;
  /** A description for the model. */
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly schema: JsonObject;
  /**
   * Calls it as the process. A refusal or a failure is a value that the model reads, with `isError`. Throws an error that ends the
   * run, and CANCELLED for a call that `signal` has given up.
   */
  call(args: JsonValue, options?: { readonly signal?: AbortSignal }): Promise<CalledValue>;
}

/**
 * The tools of a process, for a loop that is written by hand. Throws INVALID_INPUT for a tool in `only` that the process does not
 * see.
 *
 * @example
 * const [search] = await callableTools(ctx, { only: ['search'] });
 * const { value, isError } = await search.call({ query: 'tides' });
 */
export async function callableTools(face: CallingFace, options: ToolsForOptions = {}): Promise<CallableTool[]> {
  const offered = await offeredTools(face, parseToolsForOptions(options, page));
  return offered.map(({ alias, info }) => ({
    name: alias,
    description: info.description,
    schema: schemaOf(info.input),
    call: (args, { signal } = {}) => {
      const callOptions = signal === undefined ? {} : { signal };
      return callAsValue(face, () => face.tools.call(info.name, args, callOptions), signal);
    },
  }));
}
