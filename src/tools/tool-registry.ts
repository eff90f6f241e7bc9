import { injectable } from 'inversify';
import { ToolError } from '../base/errors.js';
import type { ToolInfo } from '../kernel/face/process-tools.js';
import type { Tool } from './tool.js';
import { type ParsedTool, parseTool } from './tool-definition.js';

/** The tools of this kernel, by name. */
@injectable()
export class ToolRegistry {
  private readonly tools = new Map<string, ParsedTool>();

  /** Takes it away again when it is disposed of. Throws INVALID_INPUT, CONFLICT for a name that is taken. */
  register(tool: Tool): Disposable {
    const parsed = parseTool(tool);
    const { name } = parsed;
    if (this.tools.has(name)) throw alreadyThere(name);
    this.tools.set(name, parsed);
    return {
      [Symbol.dispose]: () => {
        if (this.tools.get(name) === parsed) this.tools.delete(name);
      },
    };
  }

  find(name: string): ParsedTool | undefined {
    return this.tools.get(name);
  }

  names(): string[] {
    return [...this.tools.keys()];
  }

  /** In order of registration. */
  list(): ToolInfo[] {
    return [...this.tools.values()].map(({ info }) => info());
  }
}

function alreadyThere(name: string): ToolError {
  return new ToolError('CONFLICT', `There is a tool ${JSON.stringify(name)} already.`, {
    facts: { tool: name },
    hint: 'Give the new one another name, or dispose of what register gave back.',
  });
}
