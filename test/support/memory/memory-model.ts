/**
 * A reference model of the memory that processes see, written from the design alone. Where the kernel stores positions in
 * logs, the model copies everything at a fork.
 */
export type ForkMode = 'restricted' | 'copy' | 'speculative' | 'worker';

export interface ModelVersion {
  readonly version: number;
  readonly payload: number;
}

export interface ModelObject {
  readonly id: string;
  readonly isImmutable: boolean;
  /** The goal of `owner`: it cannot be removed from that process's view, and nobody can write it. */
  readonly isGoal: boolean;
  /** The process whose private namespace contains it. */
  owner: ModelProcess;
  isDeleted: boolean;
}

/** A capability on the private namespace of a process: its own, or the one that its parent gets at its end. */
interface ModelCapability {
  readonly holder: ModelProcess;
  readonly over: ModelProcess;
  readonly writes: boolean;
  isReleased: boolean;
}

type MainLine = ReadonlyMap<ModelObject, readonly ModelVersion[]>;

class ModelView {
  readonly entries = new Map<ModelObject, ModelCapability>();
  /** Objects removed from the view, by an entry or from the base. */
  readonly removed = new Set<ModelObject>();
  readonly overlay = new Map<ModelObject, ModelVersion[]>();

  constructor(
    readonly hasOverlay: boolean,
    readonly base: { readonly view: ModelView; readonly main: MainLine | 'live' } | null,
  ) {}

  /** A snapshot of the current state. */
  copy(main: MainLine): ModelView {
    const frozen = this.base === null ? null : { view: this.base.view, main: this.base.main };
    const base = frozen?.main === 'live' ? { view: frozen.view.copy(main), main } : frozen;
    const copy = new ModelView(this.hasOverlay, base);
    for (const [object, capability] of this.entries) copy.entries.set(object, capability);
    for (const object of this.removed) copy.removed.add(object);
    for (const [object, versions] of this.overlay) copy.overlay.set(object, [...versions]);
    return copy;
  }

  has(object: ModelObject): boolean {
    return this.entries.has(object) || (!this.removed.has(object) && this.isInBase(object));
  }

  isInBase(object: ModelObject): boolean {
    return this.base?.view.has(object) === true;
  }

  /** The versions up to the one that the view shows, oldest first. */
  history(object: ModelObject, main: MainLine): readonly ModelVersion[] {
    const { base } = this;
    const below =
      base === null || !this.isInBase(object)
        ? (main.get(object) ?? [])
        : base.view.history(object, base.main === 'live' ? main : base.main);
    return [...below, ...(this.overlay.get(object) ?? [])];
  }
}

export class ModelProcess {
  isLive = true;
  succeeded = false;
  isMerged = false;
  result: ModelObject | undefined;
  readonly capabilities: ModelCapability[] = [];

  constructor(
    readonly pid: string,
    public parent: ModelProcess | null,
    readonly mode: ForkMode | null,
    readonly isReparented: boolean,
    readonly view: ModelView,
    readonly forkedFrom: ModelView | null,
  ) {}
}

export type MergeOutcome =
  | { readonly code: string }
  | {
      readonly merged: string[];
      readonly adopted: string[];
      readonly skipped: { object: string; reason: string }[];
      readonly conflicts: string[];
    };

export class MemoryModel {
  readonly processes: ModelProcess[] = [];
  readonly objects: ModelObject[] = [];
  private readonly main = new Map<ModelObject, ModelVersion[]>();

  /** A root without `parent`; a child of `spawnChild` without `mode`. */
  addProcess(
    pid: string,
    goal: string,
    parent: ModelProcess | null,
    mode: ForkMode | null,
    isReparented: boolean,
  ): ModelProcess {
    const from = parent === null || mode === null ? null : parent.view;
    const main = new Map([...this.main].map(([object, versions]) => [object, [...versions]]));
    const snapshot = () => (from === null ? null : { view: from.copy(main), main });
    const base = mode === 'worker' && from !== null ? ({ view: from, main: 'live' } as const) : snapshot();
    const copies = mode === 'copy' || mode === 'speculative';
    const process = new ModelProcess(pid, parent, mode, isReparented, new ModelView(copies, base), from);
    process.capabilities.push({ holder: process, over: process, writes: true, isReleased: false });
    this.processes.push(process);
    this.addObject(process, goal, true, 0, 'goal');
    return process;
  }

  addObject(by: ModelProcess, id: string, isImmutable: boolean, payload: number, as?: 'goal' | 'result'): ModelObject {
    const object = { id, isImmutable, isGoal: as === 'goal', owner: by, isDeleted: false };
    this.objects.push(object);
    this.main.set(object, [{ version: 1, payload }]);
    const [own] = by.capabilities;
    if (as !== 'result' && own !== undefined) by.view.entries.set(object, own);
    return object;
  }

  canRead(process: ModelProcess, object: ModelObject): boolean {
    return (
      this.ownCapability(process, object) !== undefined || this.inheritedAccess(process.view, object) !== undefined
    );
  }

  canWrite(process: ModelProcess, object: ModelObject): boolean {
    const own = this.ownCapability(process, object, true);
    return own !== undefined || this.inheritedAccess(process.view, object)?.writes === true;
  }

  canDelete(process: ModelProcess, object: ModelObject): boolean {
    return this.ownCapability(process, object, true) !== undefined;
  }

  /** The versions of an object up to the one that the process sees, oldest first. */
  versionsSeenBy(process: ModelProcess, object: ModelObject): readonly ModelVersion[] {
    if (process.view.isInBase(object)) return process.view.history(object, this.main);
    return this.main.get(object) ?? [];
  }

  inView(process: ModelProcess): ModelObject[] {
    return this.objects.filter((object) => process.view.has(object) && this.canRead(process, object));
  }

  update(process: ModelProcess, object: ModelObject, payload: number): void {
    const version = (this.versionsSeenBy(process, object).at(-1)?.version ?? 0) + 1;
    const { view } = process;
    const branch = view.hasOverlay && view.isInBase(object) ? view.overlay : this.main;
    branch.set(object, [...(branch.get(object) ?? []), { version, payload }]);
  }

  add(process: ModelProcess, object: ModelObject): void {
    const own = this.ownCapability(process, object, true) ?? this.ownCapability(process, object);
    process.view.removed.delete(object);
    // An object of a base needs no entry; an entry whose capability is dead is replaced.
    const entry = process.view.entries.get(object);
    if (own !== undefined && (entry === undefined || !this.isUsable(entry, object)))
      process.view.entries.set(object, own);
  }

  remove(process: ModelProcess, object: ModelObject): void {
    if ((object.isGoal && object.owner === process) || !process.view.has(object)) return;
    process.view.entries.delete(object);
    process.view.removed.add(object);
  }

  end(process: ModelProcess, succeeded: boolean): void {
    const ended = this.endingWith(process);
    for (const one of ended) {
      one.isLive = false;
      one.succeeded = succeeded && one === process;
    }
    for (const orphan of this.processes) {
      if (!orphan.isLive || orphan.parent === null || orphan.parent.isLive) continue;
      while (orphan.parent !== null && !orphan.parent.isLive) orphan.parent = orphan.parent.parent;
    }
    for (const { parent, ...one } of ended.map((child) => ({ child, parent: child.parent }))) {
      if (parent?.isLive !== true) continue;
      parent.capabilities.push({ holder: parent, over: one.child, writes: false, isReleased: false });
    }
  }

  merge(process: ModelProcess, child: ModelProcess, policy: 'fail' | 'ours' | 'theirs'): MergeOutcome {
    if (!process.isLive) return { code: 'PROCESS_TERMINATED' };
    if (child.parent !== process) return { code: 'NOT_A_CHILD' };
    if (child.isLive) return { code: 'INVALID_TRANSITION' };
    if (child.forkedFrom !== process.view) return { code: 'NOT_FORKED' };
    const outcome = {
      merged: [] as string[],
      adopted: [] as string[],
      skipped: [] as Skipped[],
      conflicts: [] as string[],
    };
    if (child.isMerged || (child.mode === 'speculative' && !child.succeeded)) return outcome;
    const writes: (() => void)[] = [];
    for (const [object, versions] of child.view.overlay) {
      const theirs = versions.at(-1)?.payload ?? 0;
      const step = this.classify(process, child, object, theirs);
      if (step !== 'write' && step !== 'conflict') outcome.skipped.push({ object: object.id, reason: step });
      if (step === 'conflict') outcome.conflicts.push(object.id);
      if (step !== 'write' && (step !== 'conflict' || policy !== 'theirs')) continue;
      outcome.merged.push(object.id);
      writes.push(() => this.update(process, object, theirs));
    }
    if (policy === 'fail' && outcome.conflicts.length > 0) return { code: 'MERGE_CONFLICT' };
    for (const write of writes) write();
    outcome.adopted.push(...this.adoptObjects(process, child));
    child.isMerged = true;
    for (const one of process.capabilities) if (one.over === child) one.isReleased = true;
    return outcome;
  }

  private classify(process: ModelProcess, child: ModelProcess, object: ModelObject, theirs: number) {
    if (object.isDeleted) return 'deleted';
    if (!this.canWrite(process, object)) return 'no_right';
    const ours = this.versionsSeenBy(process, object).at(-1)?.payload;
    const base = child.view.base?.view.history(object, child.view.base.main as MainLine).at(-1)?.payload;
    if (ours === theirs || theirs === base) return 'same';
    return ours === base ? 'write' : 'conflict';
  }

  private adoptObjects(process: ModelProcess, child: ModelProcess): string[] {
    const [own] = process.capabilities;
    const made = [...child.view.entries.keys(), ...(child.result === undefined ? [] : [child.result])];
    const adopted = made.filter((one) => one.owner === child && !one.isDeleted && !one.isGoal);
    for (const object of adopted) {
      object.owner = process;
      if (own === undefined) continue;
      process.view.entries.set(object, own);
      process.view.removed.delete(object);
    }
    return adopted.map(({ id }) => id);
  }

  private ownCapability(process: ModelProcess, object: ModelObject, writing = false): ModelCapability | undefined {
    return process.capabilities.find((one) => this.isUsable(one, object) && (one.writes || !writing));
  }

  /** Access by the nearest entry with a live capability, unless a fork in between removed the object. */
  private inheritedAccess(view: ModelView, object: ModelObject): { readonly writes: boolean } | undefined {
    let copies = true;
    for (let fork = view; fork.base !== null; fork = fork.base.view) {
      copies &&= fork.hasOverlay;
      if (fork.base.view.removed.has(object)) return undefined;
      const entry = fork.base.view.entries.get(object);
      if (entry !== undefined && this.isUsable(entry, object))
        return { writes: copies && entry.writes && !object.isGoal };
    }
    return undefined;
  }

  private isUsable({ holder, over, isReleased }: ModelCapability, object: ModelObject): boolean {
    return holder.isLive && !isReleased && object.owner === over && !object.isDeleted;
  }

  private endingWith(process: ModelProcess): ModelProcess[] {
    const children = this.processes.filter(({ parent, isLive }) => isLive && parent === process);
    const cancelled = children.filter(({ isReparented }) => !isReparented);
    return [process, ...cancelled.flatMap((child) => this.treeOf(child))];
  }

  private treeOf(process: ModelProcess): ModelProcess[] {
    const children = this.processes.filter(({ parent, isLive }) => isLive && parent === process);
    return [process, ...children.flatMap((child) => this.treeOf(child))];
  }
}

interface Skipped {
  object: string;
  reason: string;
}
