import { inject, injectable } from 'inversify';
import type { NodeId, Pid } from '../../base/ids.js';
import { Store } from '../../base/store.js';
import type { CommandIdentities, UnreachableReason } from '../../kernel/command/command-ports.js';
import type { HeldCommand } from '../../kernel/command/command-repository.js';
import { NodeRepository } from '../../kernel/node/node-repository.js';
import { OsProcesses } from '../../runtime/os/os-processes.js';
import { OsPrograms } from '../../runtime/os/os-programs.js';

/** Looks at the OS processes of commands of this machine. What cannot be decided counts as reachable. */
@injectable()
export class OsIdentities implements CommandIdentities {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(NodeRepository) private readonly nodes: NodeRepository,
    @inject(OsProcesses) private readonly os: OsProcesses,
    @inject(OsPrograms) private readonly programs: OsPrograms,
  ) {}

  async findUnreachable(commands: readonly HeldCommand[]): Promise<ReadonlyMap<Pid, UnreachableReason>> {
    const machines = await this.machinesOf(new Set(commands.map(({ node }) => node)));
    const unreachable = new Map<Pid, UnreachableReason>();
    for (const held of commands) {
      const reason = this.reasonOf(held, machines.get(held.node));
      if (reason !== undefined) unreachable.set(held.pid, reason);
    }
    return unreachable;
  }

  private reasonOf({ command: { leader } }: HeldCommand, driver: string | undefined): UnreachableReason | undefined {
    const { machine } = this.os.self();
    if (((leader?.machine ?? driver) || machine) !== machine) return 'unavailable';
    if (leader === null) return undefined;
    if (this.os.isAlive(leader) === false) return 'stale';
    return this.programs.maySignal(leader.pid) ? undefined : 'unavailable';
  }

  /** The machines of nodes; a node without a row has none. */
  private machinesOf(nodes: ReadonlySet<NodeId>): Promise<Map<NodeId, string>> {
    return this.store.read(async (tx) => {
      const machines = new Map<NodeId, string>();
      for (const node of nodes) {
        const row = await this.nodes.find(tx, node);
        if (row?.host != null) machines.set(node, row.host.machine);
      }
      return machines;
    });
  }
}
