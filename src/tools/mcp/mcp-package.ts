import { ToolError } from '../../base/errors.js';

/** The MCP SDK. */
export type McpPackage = typeof import('@modelcontextprotocol/client');

/** Loads the SDK on first use: it is an optional dependency. Throws TOOL_FAILED. */
export async function loadMcpPackage(): Promise<McpPackage> {
  try {
    return await import('@modelcontextprotocol/client');
  } catch (error) {
    throw new ToolError('TOOL_FAILED', 'The package @modelcontextprotocol/client could not be loaded.', {
      facts: { package: '@modelcontextprotocol/client' },
      hint: 'Install it beside procura: npm install @modelcontextprotocol/client@^2.4.0',
      cause: error,
    });
  }
}
