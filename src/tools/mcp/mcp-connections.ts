import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { errorText, KernelError, StoreError, ToolError } from '../../base/errors.js';
import { type KernelLogger, Logger } from '../../base/logger.js';
import { payloadLimits } from '../../base/spec.js';
import { PipedCommands } from '../../command/drive/piped-commands.js';
import { PayloadBytesMax } from '../../memory/object/object-writer.js';
import { ToolRegistry } from '../tool-registry.js';
import { connectEndpoint } from './connect-endpoint.js';
import { connectProgram } from './connect-program.js';
import { ForeignSchemas } from './foreign-schemas.js';
import { loadMcpPackage, type McpPackage } from './mcp-package.js';
import { type CloseReason, McpRecorder } from './mcp-recorder.js';
import { McpServerConnection } from './mcp-server-connection.js';
import { type McpConnection, type ParsedTarget, parseMcpTarget, parseServerName } from './mcp-target.js';

interface ConnectOptions {
  /** Whether a failure is on record: of a row of attempts the first one is. */
  readonly isRecorded?: boolean;
  /** Called when the program of the server has ended too often; `close` takes its tools away. */
  readonly onDown?: (close: () => Promise<void>) => void;
}

/** The MCP servers that this kernel is connected to. Connecting one is an act of the host, and needs no capability. */
@injectable()
export class McpConnections {
  private readonly servers = new Map<string, McpServerConnection>();
  private isClosed = false;

  constructor(
    @inject(ToolRegistry) private readonly registry: ToolRegistry,
    @inject(ForeignSchemas) private readonly schemas: ForeignSchemas,
    @inject(PipedCommands) private readonly commands: PipedCommands,
    @inject(McpRecorder) private readonly recorder: McpRecorder,
    @inject(PayloadBytesMax) private readonly bytesMax: number,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Logger) private readonly logger: KernelLogger,
  ) {}

  /** Registers the tools of a server as `mcp/SERVER/NAME`. Throws INVALID_INPUT, CONFLICT for a name in use, TOOL_FAILED, MISSING_PACKAGE. */
  async connect(server: unknown, target: unknown): Promise<McpConnection> {
    return this.connectTo(parseServerName(server), parseMcpTarget(target));
  }

  /** As `connect`. */
  async connectTo(
    name: string,
    target: ParsedTarget,
    { isRecorded = true, onDown = () => undefined }: ConnectOptions = {},
  ): Promise<McpConnection> {
    const sdk = await loadMcpPackage();
    if (this.isClosed) throw kernelClosed();
    if (this.servers.has(name)) throw alreadyConnected(name);
    const connection: McpServerConnection = this.create(name, target, sdk, () =>
      onDown(() => this.closeSafely(connection, 'down')),
    );
    this.servers.set(name, connection);
    await this.connectAndRecord(name, connection, isRecorded);
    return connection;
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([...this.servers.values()].map((server) => this.closeSafely(server, 'shutdown')));
    this.schemas.close();
  }

  private async connectAndRecord(name: string, server: McpServerConnection, isRecorded: boolean): Promise<void> {
    try {
      await server.connect();
    } catch (error) {
      this.release(name, server);
      if (isRecorded) await this.recordFailure(name, error);
      throw error;
    }
    try {
      await this.recorder.recordConnect(name, server.tools.length);
    } catch (error) {
      await this.closeSafely(server, 'requested');
      throw error;
    }
    this.logger.info?.({ server: name, tools: server.tools.length }, `MCP server ${name} is connected`);
  }

  private create(name: string, target: ParsedTarget, sdk: McpPackage, onDown: () => void): McpServerConnection {
    const { registry, schemas, commands, clock, logger, recorder, bytesMax } = this;
    const server: McpServerConnection = new McpServerConnection(name, target, {
      sdk,
      registry,
      schemas,
      clock,
      logger,
      limits: { ...payloadLimits, bytesMax },
      connect: (options) =>
        'url' in target ? connectEndpoint(options, target) : connectProgram(options, commands, target),
      onDown,
      onChanged: (changes, tools) => recorder.recordChange(name, changes, tools),
      onClosed: async (reason, tools) => {
        this.release(name, server);
        this.tellClose(name, reason);
        await recorder.recordClose(name, reason, tools);
      },
    });
    return server;
  }

  private tellClose(server: string, reason: CloseReason): void {
    if (reason === 'stopped') this.logger.warn({ server }, `MCP server ${server} was closed: its process was stopped`);
    if (reason === 'requested') this.logger.info?.({ server }, `MCP server ${server} was closed`);
  }

  /** Does nothing when another connection has taken the name. */
  private release(name: string, server: McpServerConnection): void {
    if (this.servers.get(name) === server) this.servers.delete(name);
  }

  private async closeSafely(server: McpServerConnection, reason: CloseReason): Promise<void> {
    await server.closeFor(reason).catch((error) => {
      this.logger.error({ problem: errorText(error) }, 'an MCP server could not be closed');
    });
  }

  /** Never throws: the caller gets the error of the connection itself. */
  private async recordFailure(name: string, error: unknown): Promise<void> {
    const code = error instanceof KernelError ? error.code : 'TOOL_FAILED';
    await this.recorder.recordFailure(name, code).catch((failure) => {
      this.logger.error({ server: name, problem: errorText(failure) }, 'a failed connection was not recorded');
    });
  }
}

function kernelClosed(): StoreError {
  return new StoreError('KERNEL_CLOSED', 'The kernel has been shut down.', {
    hint: 'Open another one with createKernel.',
  });
}

function alreadyConnected(server: string): ToolError {
  return new ToolError('CONFLICT', `There is an MCP server ${server} already.`, {
    facts: { server },
    hint: 'Give the new one another name, or close the connection that is there.',
  });
}
