import type { ToolMessage } from '@langchain/core/messages';
import type { JsonValue } from '../../index.js';
import { callAsValue } from '../shared/call-as-value.js';
import type { CallingFace } from '../shared/calling-face.js';
import { SdkContexts } from '../shared/sdk-contexts.js';
import { loadCore } from './core-package.js';
import { fromStoredResult, type RequestedCall, toToolMessage } from './tool-message.js';

/** Runs the tool as LangChain would, with its state, its runtime and its callbacks. */
export type LangChainRun = (args: JsonValue, signal: AbortSignal) => unknown;

/** Carries the run of a call from LangChain to the tool that the kernel has registered. */
export const langChainRuns = new SdkContexts<LangChainRun>();

/** Tools that make their calls through the kernel themselves. */
export const kernelTools = new WeakSet<object>();

/**
 * Calls a governed tool through the gate. A refusal or a failure is a message that the model reads. Throws an error that ends
 * the run.
 */
export async function callGoverned(
  face: CallingFace,
  tool: string,
  call: RequestedCall & { readonly args: JsonValue },
  run: LangChainRun,
  signal?: AbortSignal,
): Promise<ToolMessage> {
  const core = await loadCore();
  const options = signal === undefined ? {} : { signal };
  const called = await callAsValue(face, () => langChainRuns.call(face, tool, call.args, run, options), signal);
  return called.isError === true ? toToolMessage(core, call, called) : fromStoredResult(core, call, called.value);
}

/** A signal that aborts with any of them. */
export function anySignal(signal: AbortSignal, other: AbortSignal | undefined): AbortSignal {
  return other === undefined ? signal : AbortSignal.any([signal, other]);
}
