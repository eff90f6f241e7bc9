import type { StructuredToolInterface } from '@langchain/core/tools';
import type { JsonValue } from '../../index.js';
import { callAsValue } from '../shared/call-as-value.js';
import type { CallingFace } from '../shared/calling-face.js';
import {
  type OfferedTool,
  offeredTools,
  parseToolsForOptions,
  schemaOf,
  type ToolsForOptions,
} from '../shared/offered-tools.js';
import { type CorePackage, loadCore } from './core-package.js';
import { kernelTools } from './governed-call.js';
import { page } from './page.js';
import { type RequestedCall, toText, toToolMessage } from './tool-message.js';

/** A tool of the kernel in LangChain's form. */
export type KernelTool = StructuredToolInterface;

/**
 * The tools of a process for `createAgent`, `ToolNode` and `bindTools`. Calls go through the kernel as calls of that process; a
 * refusal or a failure is a message that the model reads, with the status `error`. Throws INVALID_INPUT for a tool in `only` that
 * the process does not see, MISSING_PACKAGE.
 *
 * @example createAgent({ model, tools: await toolsFor(ctx, { granted: true }), middleware: [procuraMiddleware(ctx, { prefix: 'team' })] });
 */
export async function toolsFor(face: CallingFace, options: ToolsForOptions = {}): Promise<KernelTool[]> {
  const chosen = parseToolsForOptions(options, page);
  const core = await loadCore();
  return (await offeredTools(face, chosen)).map((offered) => toLangChainTool(core, face, offered));
}

/** The parts of a tool's configuration that a call reads. */
interface CallConfig {
  readonly signal?: AbortSignal | undefined;
  readonly toolCall?: RequestedCall | undefined;
}

function toLangChainTool(core: CorePackage, face: CallingFace, { alias, info }: OfferedTool): KernelTool {
  const tool = new core.DynamicStructuredTool({
    name: alias,
    description: info.description,
    schema: schemaOf(info.input),
    verboseParsingErrors: true,
    func: async (args: JsonValue, _manager?: unknown, config: CallConfig = {}) => {
      const { signal, toolCall } = config;
      const options = signal === undefined ? {} : { signal };
      const called = await callAsValue(face, () => face.tools.call(info.name, args, options), signal);
      return toolCall === undefined ? toText(called.value) : toToolMessage(core, { ...toolCall, name: alias }, called);
    },
  });
  kernelTools.add(tool);
  return tool;
}
