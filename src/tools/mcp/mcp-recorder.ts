import { inject, injectable } from 'inversify';
import { Clock } from '../../base/clock.js';
import type { JsonObject } from '../../base/json.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store } from '../../base/store.js';
import type { AuditAction } from '../../unit/actions.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';

/** The numbers of tools that were added, removed and changed. */
export interface ToolChanges {
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
}

/** Why a connection was closed: by `close`, because its process was stopped, or because the kernel was shut down. */
export type CloseReason = 'requested' | 'stopped' | 'shutdown';

/** Records connections of MCP servers and changes of their tools, as acts of the host. */
@injectable()
export class McpRecorder {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Clock) private readonly clock: Clock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
  ) {}

  recordConnect(server: string, tools: number): Promise<void> {
    return this.write(server, 'mcp.connect', { tools }, { added: tools, removed: 0, changed: 0 });
  }

  recordChange(server: string, changes: ToolChanges, tools: number): Promise<void> {
    return this.write(server, 'mcp.change', { tools, ...changes }, changes);
  }

  recordClose(server: string, reason: CloseReason, tools: number): Promise<void> {
    return this.write(server, 'mcp.close', { tools, reason }, { added: 0, removed: tools, changed: 0 });
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

  private async write(server: string, action: AuditAction, facts: JsonObject, changes: ToolChanges): Promise<void> {
    await this.store.write(async (tx) => {
      const act = this.act();
      this.recorder.recordEvent(tx, { type: 'tools.changed', at: act.at, data: { server, ...changes } });
      this.recorder.recordAudit(tx, { ...act, action, outcome: 'ok', target: `mcp:${server}`, facts });
    });
  }

  private act() {
    return { actor: 'host', via: `host:${this.node.operator}`, at: this.clock.now() };
  }
}
