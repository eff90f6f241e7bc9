import { errorText, InputError, isBrandedError, type KernelError, ProcessError, ToolError } from '../base/errors.js';
import type { Pid } from '../base/ids.js';

const knownNamesMax = 100;
const messageMax = 1_000;

export function noSuchTool(pid: Pid, name: string, known: readonly string[]): ToolError {
  return new ToolError('NO_SUCH_TOOL', `Process ${pid} sees no tool ${JSON.stringify(name)}.`, {
    facts: { pid, tool: name, known: known.slice(0, knownNamesMax) },
    hint: 'Use one of the tools that tools.list() shows, or register it with kernel.tools.register.',
  });
}

export function otherToolRegistered(tool: string): ToolError {
  return new ToolError('CONFLICT', `Another tool is registered as ${JSON.stringify(tool)}.`, {
    facts: { tool },
    hint: 'Call the tool that was registered, or call it by its name.',
  });
}

export function externalToolCalled(tool: string): InputError {
  return new InputError('INVALID_INPUT', `name: Tool ${tool} is not run by the kernel.`, {
    facts: { path: 'name', problem: 'is an external tool', tool },
    hint: 'Open the call with tools.open, do its work, and settle it.',
  });
}

export function ownToolOpened(tool: string): InputError {
  return new InputError('INVALID_INPUT', `name: Tool ${tool} is run by the kernel.`, {
    facts: { path: 'name', problem: 'is not an external tool', tool },
    hint: 'Call it with tools.call.',
  });
}

/** The error that a tool threw. Kernel errors, such as a refusal that the tool ran into, stay as they are. */
export function toolFailed(tool: string, error: unknown): KernelError {
  if (isBrandedError(error)) return error;
  const message = errorText(error).slice(0, messageMax).toWellFormed();
  return new ToolError('TOOL_FAILED', `Tool ${tool} failed: ${message}`, {
    facts: { tool, error: message },
    hint: 'See what it says; the call is on record and counts.',
    cause: error,
  });
}

/** The tool returned a value that is not JSON, or does not fit its output schema. */
export function invalidResult(tool: string, error: KernelError): ToolError {
  const { problem = error.message, path = 'result' } = error.facts;
  return new ToolError('TOOL_FAILED', `Tool ${tool} gave back what is no result of it: ${path}: ${problem}.`, {
    facts: { tool, path, problem },
    hint: 'The tool has run; mend what it returns, or its output schema.',
    cause: error,
  });
}

export function toolTimeout(tool: string, timeoutMs: number): ToolError {
  return new ToolError('TOOL_TIMEOUT', `Tool ${tool} took longer than ${timeoutMs} ms.`, {
    facts: { tool, timeoutMs },
    hint: 'Give it more time, which counts from the call on; what it has begun may still happen.',
    retryable: true,
  });
}

/** The tool was called by its own code, and all the calls that it may run at the same time wait for this one. */
export function nestedCall(tool: string, pid: Pid, concurrency: number): ProcessError {
  return new ProcessError('WAIT_CYCLE', `Tool ${tool} calls itself, and the call would wait for its own end.`, {
    facts: { tool, pid, concurrency, cycle: [`tool:${tool}`] },
    hint: 'Raise the concurrency of the tool, or call the code behind it directly.',
  });
}

export function toolOutcomeUnknown(tool: string): ToolError {
  return new ToolError('OUTCOME_UNKNOWN', `Whether the call of ${tool} has happened is not known.`, {
    facts: { tool },
    hint: 'The program ended while it was under way, and it may happen only once: find out what happened, then decide.',
  });
}

export function callCancelled(tool: string, pid: Pid): ProcessError {
  return new ProcessError('CANCELLED', `The call of ${tool} by process ${pid} was given up.`, {
    facts: { tool, pid },
    hint: 'The process is being stopped, or whoever called does not want the result any more.',
  });
}
