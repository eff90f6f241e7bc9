import { AsyncLocalStorage } from 'node:async_hooks';
import type { JsonValue, ToolCallOptions } from '../../index.js';
import type { CallingFace } from './calling-face.js';

/**
 * Carries what an SDK gives to a call of its tool, such as its run and its messages, through the gate of the kernel to the
 * code of the tool. The kernel knows nothing of it.
 */
export class SdkContexts<Context> {
  private readonly storage = new AsyncLocalStorage<{ readonly tool: string; readonly context: Context } | undefined>();

  /** Calls the tool as the process; its code finds `context`. Throws as `tools.call` does. */
  call(
    face: CallingFace,
    tool: string,
    args: JsonValue,
    context: Context,
    options: ToolCallOptions = {},
  ): Promise<JsonValue> {
    return this.storage.run({ tool, context }, () => face.tools.call(tool, args, options));
  }

  /**
   * Runs the code of the tool with the context of its call: undefined where the call did not come through `call`. Calls that
   * the code makes itself do not find the context.
   */
  run<T>(tool: string, work: (context: Context | undefined) => T): T {
    const carried = this.storage.getStore();
    return this.storage.run(undefined, () => work(carried?.tool === tool ? carried.context : undefined));
  }
}
