import { type Effect, type ExternalTool, externalTool, type JsonObject } from '../../index.js';

/** The SDK's own tools, by the effect of a repeated call. */
const effects: Readonly<Record<Effect, readonly string[]>> = {
  pure: [
    'Glob',
    'Grep',
    'LS',
    'Read',
    'NotebookRead',
    'TaskOutput',
    'BashOutput',
    'ToolSearch',
    'WebFetch',
    'WebSearch',
  ],
  idempotent: ['TodoWrite', 'Write'],
  once: [
    'Agent',
    'Task',
    'Bash',
    'Edit',
    'MultiEdit',
    'NotebookEdit',
    'KillShell',
    'TaskStop',
    'Skill',
    'AskUserQuestion',
  ],
};

/** Any object: the SDK validates the arguments of its tools itself. */
const anyObject: JsonObject = { type: 'object' };

/** The longest time that a tool of the SDK may take. */
const timeoutMs = 6 * 60 * 60_000;

/**
 * The SDK's own tools for the kernel, as `claude/NAME`: all that it is known to have, or those that are named. A process needs
 * `call` on `tool:claude/NAME`; constraints bind the arguments, such as `command` of `claude/Bash`.
 *
 * @example const kernel = await createKernel({ tools: claudeTools(['Read', 'Bash']) });
 */
export function claudeTools(names: readonly string[] = Object.values(effects).flat()): ExternalTool[] {
  return names.map((name) =>
    externalTool({
      name: `claude/${name}`,
      description: `The tool ${name} of the Claude Agent SDK.`,
      effect: effectOf(name),
      input: anyObject,
      timeoutMs,
    }),
  );
}

/** A tool that is not known may happen only once. */
function effectOf(name: string): Effect {
  return (Object.keys(effects) as Effect[]).find((effect) => effects[effect].includes(name)) ?? 'once';
}
