import { inject, injectable } from 'inversify';
import { type Token, token } from '../base/token.js';
import type { ToolInfo } from '../kernel/tool-gate.js';
import type { Tool } from './tool.js';
import { ToolRegistry } from './tool-registry.js';

/** The tools of a kernel. Processes call them through their own face: `kernel.as(pid).tools`. */
export interface ToolBroker {
  /** Adds a tool, and takes it away again when that is disposed of. Throws INVALID_INPUT, CONFLICT. */
  register(tool: Tool): Disposable;
  /** All that are registered, those that come with the kernel among them. */
  list(): ToolInfo[];
}
export const ToolBroker: Token<ToolBroker> = token('ToolBroker');

@injectable()
export class HostToolBroker implements ToolBroker {
  constructor(@inject(ToolRegistry) private readonly registry: ToolRegistry) {}

  register = (tool: Tool) => this.registry.register(tool);
  list = () => this.registry.list();
}
