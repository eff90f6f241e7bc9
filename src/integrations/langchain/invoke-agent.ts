import { KernelError, type Syscalls } from '../../index.js';
import { anySignal } from './governed-call.js';

/** An agent of `createAgent`, or a compiled graph. */
export interface InvokableAgent<Input, Output> {
  /** Runs it to its end, as LangChain defines it. */
  invoke(input: Input, config?: never): Promise<Output>;
}

/**
 * Invokes an agent or a graph as the body of a process: it is given up when the process is stopped, and an error of the kernel,
 * which LangChain wraps, is thrown as it is, so that the outcome of the process names it. Throws what the agent throws.
 *
 * @example const { messages } = await invokeAgent(ctx, agent, { messages: [{ role: 'user', content: 'Begin.' }] });
 */
export async function invokeAgent<Input, Output>(
  ctx: Syscalls,
  agent: InvokableAgent<Input, Output>,
  input: Input,
  config: { readonly signal?: AbortSignal; readonly [option: string]: unknown } = {},
): Promise<Output> {
  try {
    return await agent.invoke(input, { ...config, signal: anySignal(ctx.signal, config.signal) } as never);
  } catch (error) {
    if (ctx.signal.aborted) throw ctx.signal.reason;
    throw kernelErrorIn(error) ?? error;
  }
}

/** More than any list of middleware wraps. */
const depthMax = 64;

function kernelErrorIn(error: unknown): KernelError | undefined {
  let inner = error;
  for (let depth = 0; depth < depthMax && inner instanceof Error; depth++) {
    if (inner instanceof KernelError) return inner;
    inner = inner.cause;
  }
  return undefined;
}
