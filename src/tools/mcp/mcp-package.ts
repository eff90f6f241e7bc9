import { missingPackage } from '../../base/package/missing-package.js';

/** The MCP SDK. */
export type McpPackage = typeof import('@modelcontextprotocol/client');

/** Loads the SDK on first use: it is an optional dependency. Throws MISSING_PACKAGE. */
export function loadMcpPackage(): Promise<McpPackage> {
  return import('@modelcontextprotocol/client').catch(missingPackage('@modelcontextprotocol/client', '2'));
}
