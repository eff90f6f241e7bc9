import { ToolError } from '../../base/errors.js';

/** The package that speaks the protocol. */
export type McpPackage = typeof import('@modelcontextprotocol/client');

/** Loaded when it is first needed: most kernels have no use for it, and it need not be installed. Throws TOOL_FAILED. */
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
