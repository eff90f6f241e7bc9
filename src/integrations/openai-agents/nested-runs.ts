import { AsyncLocalStorage } from 'node:async_hooks';
import type { Runner } from '@openai/agents-core';
import type { AgentsPackage } from './agents-package.js';

/** An agent with any context and any type of output. */
export type AnyAgent = Parameters<Runner['run']>[0];

/** The input of a run. */
type RunInput = Parameters<Runner['run']>[1];

/** Gives the agent that is run in the place of another. */
export type ReplaceAgent = (agent: AnyAgent) => AnyAgent;

const replacing = new AsyncLocalStorage<ReplaceAgent | undefined>();
const intercepted = new WeakSet<object>();

/**
 * Runs `work`, in which the first run of an agent runs what `replace` gives. The tool that `agent.asTool()` makes keeps its agent
 * to itself: only the run that it starts shows it.
 */
export function replaceNestedRun<T>(sdk: AgentsPackage, replace: ReplaceAgent, work: () => T): T {
  interceptRuns(sdk);
  return replacing.run(replace, work);
}

interface RunMethod {
  run(agent: AnyAgent, input: RunInput, options?: object): Promise<unknown>;
}

/** Runs that are started outside of `replaceNestedRun` are not changed. */
function interceptRuns({ Runner }: AgentsPackage): void {
  const runner = Runner.prototype as object as RunMethod;
  if (intercepted.has(runner)) return;
  intercepted.add(runner);
  const { run } = runner;
  runner.run = function (agent, input, options) {
    const replace = replacing.getStore();
    if (replace === undefined) return run.call(this, agent, input, options);
    return replacing.run(undefined, async () => run.call(this, replace(agent), input, options));
  };
}
