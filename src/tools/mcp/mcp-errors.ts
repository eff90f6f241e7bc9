import { errorText, KernelError, ToolError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import type { McpPackage } from './mcp-package.js';

const problemCharsMax = 1_000;

/** The parts of an error that the protocol or the connection has caused. It contains no secret of the request. */
interface Failure {
  readonly facts: JsonObject;
  readonly problem: string;
  readonly hint: string;
  readonly retryable: boolean;
}

/** The server could not be reached, or is no MCP server. */
export function notConnected(sdk: McpPackage, server: string, error: unknown, facts: JsonObject = {}): KernelError {
  if (error instanceof KernelError) return error;
  const failure = failureOf(sdk, error);
  return new ToolError('TOOL_FAILED', `MCP server ${server} could not be connected: ${failure.problem}`, {
    facts: { server, ...facts, ...failure.facts, problem: failure.problem },
    hint: failure.hint,
    retryable: failure.retryable,
    cause: error,
  });
}

/** A call got no response, or a protocol error as response. */
export function callFailed(sdk: McpPackage, tool: string, error: unknown): KernelError {
  if (error instanceof KernelError) return error;
  const failure = failureOf(sdk, error);
  const unknownHint =
    'Whether it was carried out is not known. If it may happen only once, find out before you repeat it.';
  return new ToolError('TOOL_FAILED', `Tool ${tool} failed: ${failure.problem}`, {
    facts: { tool, ...failure.facts, problem: failure.problem },
    hint: failure.retryable ? unknownHint : failure.hint,
    retryable: failure.retryable,
    cause: error,
  });
}

export function connectTimeout(server: string, connectTimeoutMs: number): ToolError {
  return new ToolError('TOOL_FAILED', `MCP server ${server} did not tell its tools within ${connectTimeoutMs} ms.`, {
    facts: { server, connectTimeoutMs, reason: 'timeout' },
    hint: 'See that it is an MCP server and that it runs, or give it more time with connectTimeoutMs.',
    retryable: true,
  });
}

export function serverDown(server: string): ToolError {
  return new ToolError('TOOL_FAILED', `MCP server ${server} is down: it was restarted too often.`, {
    facts: { server, reason: 'down' },
    hint: 'See what it wrote to its error file; then close the connection, and connect it again.',
  });
}

export function connectionClosed(server: string): ToolError {
  return new ToolError('TOOL_FAILED', `The connection to MCP server ${server} is closed.`, {
    facts: { server, reason: 'closed' },
    hint: 'Connect it again with kernel.tools.connectMcp.',
  });
}

/** Whether the session is unknown to the server or the connection has failed: a new session may work. */
export function isConnectionLost(sdk: McpPackage, error: unknown): boolean {
  if (error instanceof sdk.SdkHttpError) return error.status === 404 || error.status >= 500;
  if (error instanceof sdk.SdkError) return lostCodes(sdk).has(error.code);
  return error instanceof TypeError;
}

/** A protocol error is a response of the server; every other error means that there was none. */
function failureOf(sdk: McpPackage, error: unknown): Failure {
  const problem = (error instanceof Error ? error.message : errorText(error)).slice(0, problemCharsMax).toWellFormed();
  if (error instanceof sdk.ProtocolError) {
    const facts = { reason: 'protocol_error', rpcCode: error.code };
    return { facts, problem, hint: 'See what the server says of it.', retryable: false };
  }
  if (isUnauthorized(sdk, error)) {
    const hint = 'Give it credentials that it takes, such as headers: { authorization: … }.';
    return { facts: { reason: 'unauthorized', ...statusOf(sdk, error) }, problem, hint, retryable: false };
  }
  const hint = 'See that the server runs and what it says, then repeat the call.';
  if (isConnectionLost(sdk, error)) {
    return { facts: { reason: 'connection_lost', ...statusOf(sdk, error) }, problem, hint, retryable: true };
  }
  return { facts: { reason: 'no_answer', ...statusOf(sdk, error) }, problem, hint, retryable: false };
}

function isUnauthorized(sdk: McpPackage, error: unknown): boolean {
  if (error instanceof sdk.SdkHttpError) return error.status === 401 || error.status === 403;
  return error instanceof sdk.UnauthorizedError || error instanceof sdk.OAuthClientFlowError;
}

function statusOf(sdk: McpPackage, error: unknown): JsonObject {
  return error instanceof sdk.SdkHttpError ? { status: error.status } : {};
}

function lostCodes({ SdkErrorCode }: McpPackage): ReadonlySet<string> {
  const { ConnectionClosed, NotConnected, SendFailed, EraNegotiationFailed } = SdkErrorCode;
  return new Set([ConnectionClosed, NotConnected, SendFailed, EraNegotiationFailed]);
}
