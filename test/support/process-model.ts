/** A small model of tree, statuses and budgets, written from the design only. All calls are the host's. */
export interface ModelProcess {
  readonly pid: string;
  readonly bornUnder: ModelProcess | null;
  readonly onParentExit: 'cancel' | 'reparent' | 'detach';
  readonly limits: { readonly tokens?: number; readonly children?: number; readonly depth?: number };
  parent: ModelProcess | null;
  status: 'created' | 'runnable' | 'paused' | 'exited' | 'failed' | 'killed';
  /** The status in which its image begins, which it has again after a pause. */
  begins: 'created' | 'runnable';
  outcome: string | undefined;
  /** Own charges, without those of descendants. */
  tokens: number;
}

export interface ModelReservation {
  readonly id: string;
  readonly process: ModelProcess;
  readonly tokens: number;
}

export class ProcessModel {
  readonly processes: ModelProcess[] = [];
  reservations: ModelReservation[] = [];

  isLive({ status }: ModelProcess): boolean {
    return status === 'created' || status === 'runnable' || status === 'paused';
  }

  /** The processes whose limits apply, itself first. */
  pathOf(process: ModelProcess): ModelProcess[] {
    const path: ModelProcess[] = [];
    for (let at: ModelProcess | null = process; at !== null; at = at.bornUnder) path.push(at);
    return path;
  }

  descendantsOf(process: ModelProcess): ModelProcess[] {
    return this.processes.filter((other) => other !== process && this.pathOf(other).includes(process));
  }

  usedBy(process: ModelProcess): number {
    return [process, ...this.descendantsOf(process)].reduce((sum, { tokens }) => sum + tokens, 0);
  }

  reservedBy(process: ModelProcess): number {
    const family = new Set([process, ...this.descendantsOf(process)]);
    return this.reservations.reduce((sum, held) => sum + (family.has(held.process) ? held.tokens : 0), 0);
  }

  liveDescendantsOf(process: ModelProcess): number {
    return this.descendantsOf(process).filter((other) => this.isLive(other)).length;
  }

  canSpend(process: ModelProcess, tokens: number): boolean {
    if (tokens === 0) return true;
    return this.pathOf(process).every(
      (at) => at.limits.tokens === undefined || this.usedBy(at) + this.reservedBy(at) + tokens <= at.limits.tokens,
    );
  }

  canSpawn(parent: ModelProcess): boolean {
    return this.pathOf(parent).every((at, levelsAbove) => {
      const depth = at.limits.depth ?? (at.bornUnder === null ? 64 : Number.POSITIVE_INFINITY);
      const children = at.limits.children ?? Number.POSITIVE_INFINITY;
      return this.liveDescendantsOf(at) + 1 <= children && levelsAbove + 1 <= depth;
    });
  }

  add(process: ModelProcess): void {
    this.processes.push(process);
  }

  liveChildrenOf(process: ModelProcess): ModelProcess[] {
    return this.processes.filter((other) => other.parent === process && this.isLive(other));
  }

  /** Itself and all live processes below it in the tree. */
  liveTreeOf(process: ModelProcess): ModelProcess[] {
    if (!this.isLive(process)) return [];
    return [process, ...this.liveChildrenOf(process).flatMap((child) => this.liveTreeOf(child))];
  }

  rootOf(process: ModelProcess): ModelProcess {
    return process.parent === null ? process : this.rootOf(process.parent);
  }

  /** Ends `ending` at once, and treats their children. */
  end(ending: readonly ModelProcess[], status: 'exited' | 'failed' | 'killed', outcome: string): void {
    for (const process of ending) this.finish(process, status, outcome);
    const orphans: ModelProcess[] = [];
    for (const process of ending) {
      for (const child of this.liveChildrenOf(process)) {
        if (child.onParentExit !== 'cancel') orphans.push(child);
        else for (const descendant of this.liveTreeOf(child)) this.finish(descendant, 'killed', 'parent_exited');
      }
    }
    for (const orphan of orphans) {
      if (!this.isLive(orphan)) continue;
      let heir = orphan.onParentExit === 'detach' ? null : orphan.parent;
      while (heir !== null && !this.isLive(heir)) heir = heir.parent;
      orphan.parent = heir;
    }
  }

  private finish(process: ModelProcess, status: 'exited' | 'failed' | 'killed', outcome: string): void {
    process.status = status;
    process.outcome = outcome;
    this.reservations = this.reservations.filter((held) => held.process !== process);
  }
}
