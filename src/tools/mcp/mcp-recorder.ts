import { inject, injectable } from 'inversify';
import { Clock } from '../../base/clock.js';
import { errorText } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store, type WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import type { AuditAction } from '../../unit/actions.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';

/** The numbers of tools that were added, removed and changed. */
export interface ToolChanges {
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
}

/**
 * Why a connection was closed: by `close`, because its process was stopped, because its program ended too often, or because
 * the kernel was shut down.
 */
export type CloseReason = 'requested' | 'stopped' | 'down' | 'shutdown';

/** A server may change its list as often as it likes: its changes are on record once in this time. */
const changeRecordMs = 10_000;

/** The changes of one server since its last record. */
interface ChangeWindow {
  changes: ToolChanges | undefined;
  tools: number;
  /** Pending while no further change may be recorded. */
  readonly timer: NodeJS.Timeout;
}

/** Records connections of MCP servers and changes of their tools, as acts of the host. */
@injectable()
export class McpRecorder {
  private readonly windows = new Map<string, ChangeWindow>();

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Clock) private readonly clock: Clock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  recordConnect(server: string, tools: number): Promise<void> {
    return this.write(server, 'mcp.connect', { tools }, { added: tools, removed: 0, changed: 0 });
  }

  /** Each change is an event. The first one is in the audit log at once, those within 10 s after it are added up in one record. */
  recordChange(server: string, changes: ToolChanges, tools: number): Promise<void> {
    const window = this.windows.get(server);
    if (window === undefined) {
      this.openWindow(server);
      return this.write(server, 'mcp.change', { tools, ...changes }, changes);
    }
    window.changes = addChanges(window.changes, changes);
    window.tools = tools;
    return this.store.write(async (tx) => this.recordEvent(tx, this.act(), server, changes));
  }

  recordClose(server: string, reason: CloseReason, tools: number): Promise<void> {
    const window = this.windows.get(server);
    clearTimeout(window?.timer);
    this.windows.delete(server);
    const changes = { added: 0, removed: tools, changed: 0 };
    return this.store.write(async (tx) => {
      const act = this.act();
      if (window?.changes !== undefined)
        this.recordAct(tx, act, server, 'mcp.change', { tools: window.tools, ...window.changes });
      this.recordEvent(tx, act, server, changes);
      this.recordAct(tx, act, server, 'mcp.close', { tools, reason });
    });
  }

  /** Records an attempt to connect that has failed with this code. */
  async recordFailure(server: string, code: string): Promise<void> {
    await this.store.write(async (tx) => {
      this.recorder.recordAudit(tx, {
        ...this.act(),
        action: 'mcp.connect',
        outcome: 'failed',
        target: `mcp:${server}`,
        code,
      });
    });
  }

  private openWindow(server: string): void {
    const timer = setTimeout(() => void this.closeWindow(server), changeRecordMs).unref();
    this.windows.set(server, { changes: undefined, tools: 0, timer });
  }

  /** Never throws. Changes that could not be recorded are logged. */
  private async closeWindow(server: string): Promise<void> {
    const window = this.windows.get(server);
    this.windows.delete(server);
    if (window?.changes === undefined) return;
    const facts = { tools: window.tools, ...window.changes };
    this.openWindow(server);
    try {
      await this.store.write(async (tx) => this.recordAct(tx, this.act(), server, 'mcp.change', facts));
    } catch (error) {
      this.logger.error({ server, problem: errorText(error) }, 'changes of the tools of a server were not recorded');
    }
  }

  private async write(server: string, action: AuditAction, facts: JsonObject, changes: ToolChanges): Promise<void> {
    await this.store.write(async (tx) => {
      const act = this.act();
      this.recordEvent(tx, act, server, changes);
      this.recordAct(tx, act, server, action, facts);
    });
  }

  private recordEvent(tx: WriteTx, { at }: Act, server: string, changes: ToolChanges): void {
    this.recorder.recordEvent(tx, { type: 'tools.changed', at, data: { server, ...changes } });
  }

  private recordAct(tx: WriteTx, act: Act, server: string, action: AuditAction, facts: JsonObject): void {
    this.recorder.recordAudit(tx, { ...act, action, outcome: 'ok', target: `mcp:${server}`, facts });
  }

  private act(): Act {
    return { actor: 'host', via: `host:${this.node.operator}`, at: this.clock.now() };
  }
}

function addChanges(a: ToolChanges | undefined, b: ToolChanges): ToolChanges {
  if (a === undefined) return b;
  return { added: a.added + b.added, removed: a.removed + b.removed, changed: a.changed + b.changed };
}
