import { z } from 'zod';
import { InputError, type ToolInfo } from '../../index.js';
import { isCallable, toolNames } from '../tool-names.js';
import type { CallingFace } from './calling-face.js';
import { parseInput } from './parse-input.js';

export { toPlainSchema as schemaOf } from './plain-schema.js';

/** Options of `toolsFor`. */
export interface ToolsForOptions {
  /** Only these tools, by the kernel's names. */
  readonly only?: readonly string[];
  /** Leaves out tools that the process may not call with any arguments. Default false: all that its image shows. */
  readonly granted?: boolean;
}

const toolsForOptions = z.strictObject({ only: z.array(z.string()).optional(), granted: z.boolean().default(false) });

/** Parsed options of `toolsFor`. */
export type ChosenTools = z.output<typeof toolsForOptions>;

/** Throws INVALID_INPUT, with `page` of the documentation in the hint. */
export function parseToolsForOptions(options: unknown, page: string): ChosenTools {
  return parseInput(toolsForOptions, options, 'options', page);
}

/** A tool of the kernel, with its name for a model. */
export interface OfferedTool {
  readonly alias: string;
  readonly info: ToolInfo;
}

/** The chosen tools of a process. Throws INVALID_INPUT for a name in `only` that the process does not see. */
export async function offeredTools(face: CallingFace, { only, granted }: ChosenTools): Promise<OfferedTool[]> {
  const visible = (await face.tools.list()).filter(isCallable);
  const selected = selectTools(visible, only);
  const chosen = granted ? await filterGranted(face, selected) : selected;
  const infos = new Map(chosen.map((info) => [info.name, info]));
  // Aliases are made from all visible tools, so that the choice of tools does not change them.
  return [...toolNames(visible)].flatMap(([alias, name]) => {
    const info = infos.get(name);
    return info === undefined ? [] : [{ alias, info }];
  });
}

function selectTools(visible: readonly ToolInfo[], only: readonly string[] | undefined): readonly ToolInfo[] {
  if (only === undefined) return visible;
  const missing = only.filter((name) => !visible.some((info) => info.name === name));
  if (missing.length === 0) return visible.filter(({ name }) => only.includes(name));
  throw new InputError('INVALID_INPUT', `options.only: the process sees no tool ${missing.join(', ')}.`, {
    facts: { path: 'options.only', problem: 'the process does not see these tools', unseen: missing },
    hint: 'Name tools that tools.list() of the process shows, as it names them.',
  });
}

/** Codes of denials that do not depend on the arguments. */
const denialsWithAnyArguments: ReadonlySet<string> = new Set([
  'NO_CAPABILITY',
  'DENY_RULE',
  'REVOKED',
  'EXPIRED',
  'SPENT',
]);

/** The tools that a process may call now with some arguments, also those that a person is asked about, and the one named `always`. */
export async function filterGranted(
  face: Pick<CallingFace, 'capabilities'>,
  tools: readonly ToolInfo[],
  always?: string,
): Promise<readonly ToolInfo[]> {
  const decisions = await Promise.all(tools.map(({ name }) => face.capabilities.check('call', `tool:${name}`)));
  return tools.filter(
    ({ name }, index) => name === always || !denialsWithAnyArguments.has(decisions[index]?.code ?? ''),
  );
}
