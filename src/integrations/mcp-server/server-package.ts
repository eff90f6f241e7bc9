import { missingPackage } from '../../base/package/missing-package.js';

/** The package of MCP servers, with its transport over standard input and output. */
export type ServerPackage = typeof import('@modelcontextprotocol/server') &
  typeof import('@modelcontextprotocol/server/stdio');

/** Loads the package on first use: it is an optional dependency. Throws MISSING_PACKAGE. */
export async function loadServerPackage(): Promise<ServerPackage> {
  const missing = missingPackage('@modelcontextprotocol/server', '2');
  const server = await import('@modelcontextprotocol/server').catch(missing);
  const stdio = await import('@modelcontextprotocol/server/stdio').catch(missing);
  return { ...server, ...stdio };
}
