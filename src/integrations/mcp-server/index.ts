/** The face of one process as an MCP server: `procura/mcp-server`. */
export { type ServedProcess, type ServeOptions, serveProcess } from './serve-process.js';
