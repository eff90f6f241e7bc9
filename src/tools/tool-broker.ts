import { inject, injectable } from 'inversify';
import { type Token, token } from '../base/token.js';
import type { ToolInfo } from '../kernel/face/process-tools.js';
import { McpConnections } from './mcp/mcp-connections.js';
import type { McpConnection, McpTarget } from './mcp/mcp-target.js';
import type { ExternalTool, Tool } from './tool.js';
import { ToolRegistry } from './tool-registry.js';

/** The tools of a kernel. Processes call them through their own face: `kernel.as(pid).tools`. */
export interface ToolBroker {
  /** Adds a tool; disposing of the result removes it. Throws INVALID_INPUT, CONFLICT. */
  register(tool: Tool | ExternalTool): Disposable;
  /** All registered tools, including those that come with the kernel. */
  list(): ToolInfo[];
  /**
   * Connects an MCP server and registers its tools as `mcp/SERVER/NAME`. Throws INVALID_INPUT, CONFLICT for a name that is
   * taken, TOOL_FAILED for a server that cannot be reached or is none.
   *
   * @example
   * const files = await kernel.tools.connectMcp('fs', { command: 'mcp-server-filesystem', args: ['/srv/notes'] });
   */
  connectMcp(server: string, target: McpTarget): Promise<McpConnection>;
}
export const ToolBroker: Token<ToolBroker> = token('ToolBroker');

@injectable()
export class HostToolBroker implements ToolBroker {
  constructor(
    @inject(ToolRegistry) private readonly registry: ToolRegistry,
    @inject(McpConnections) private readonly mcpConnections: McpConnections,
  ) {}

  register = (tool: Tool | ExternalTool) => this.registry.register(tool);
  list = () => this.registry.list();
  connectMcp = (server: string, target: McpTarget) => this.mcpConnections.connect(server, target);
}
