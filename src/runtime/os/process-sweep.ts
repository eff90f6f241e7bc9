import { setImmediate as nextTurn } from 'node:timers/promises';
import { Deferred } from '../../base/deferred.js';
import { type CommandMarks, WantedMarks } from './command-marks.js';
import { allPids, type ProcessStat, statOf } from './proc-files.js';

/** A process of the operating system as a sweep has seen it. */
export interface OsProcess extends ProcessStat {
  readonly pid: number;
}

/** All processes of the machine at one moment, and which of them belong to the commands that were asked for. */
export class ProcessSweep {
  private readonly children = new Map<number, OsProcess[]>();
  private readonly groups = new Map<number, OsProcess[]>();
  private readonly spared: ReadonlySet<number>;

  /** `holders` gives the pids with the marks of a command, by its token. */
  constructor(
    private readonly processes: ReadonlyMap<number, OsProcess>,
    private readonly holders: ReadonlyMap<string, readonly number[]>,
  ) {
    for (const each of processes.values()) {
      push(this.children, each.parent, each);
      push(this.groups, each.group, each);
    }
    this.spared = new Set(this.ancestorsOf(process.pid));
  }

  /** False where the system does not list its processes. */
  get isComplete(): boolean {
    return this.processes.size > 0;
  }

  find(pid: number): OsProcess | undefined {
    return this.processes.get(pid);
  }

  /** Live ones. */
  membersOf(group: number): OsProcess[] {
    return (this.groups.get(group) ?? []).filter(({ isDefunct }) => !isDefunct);
  }

  holdersOf({ token }: CommandMarks): OsProcess[] {
    return (this.holders.get(token) ?? []).flatMap((pid) => this.processes.get(pid) ?? []);
  }

  /** The program of this kernel and the ones that it was started by: never a part of a command. */
  isSpared(pid: number): boolean {
    return this.spared.has(pid);
  }

  /** The live ones among `roots` and everything below them. */
  withDescendants(roots: readonly OsProcess[]): OsProcess[] {
    const found = new Map<number, OsProcess>();
    const pending = [...roots];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (found.has(next.pid) || this.spared.has(next.pid)) continue;
      found.set(next.pid, next);
      pending.push(...(this.children.get(next.pid) ?? []));
    }
    return [...found.values()].filter(({ isDefunct }) => !isDefunct);
  }

  private ancestorsOf(pid: number): number[] {
    const chain: number[] = [];
    for (let each = pid; each > 0 && !chain.includes(each); each = this.processes.get(each)?.parent ?? 0)
      chain.push(each);
    return chain;
  }
}

/** The processes that are looked at at the same time: their environments are read by the threads of the file system. */
const parallel = 4;
/** A turn of the event loop gives a sweep no more than this. */
const sliceMs = 2;

/**
 * Reads /proc for everybody who asks: requests of one turn share a sweep, and requests that come while one runs share the
 * next, however many they are. The event loop goes on meanwhile, and while the requests are answered one after the other.
 */
export class SharedSweeps {
  /** The number of sweeps since the start. */
  count = 0;
  private running: Promise<unknown> = Promise.resolve();
  private next: { readonly wanted: WantedMarks; readonly requests: Deferred<Promise<ProcessSweep>>[] } | undefined;

  /** A sweep that begins after this call. Without marks it shows the tree only, which is cheaper. */
  async request(marks?: CommandMarks): Promise<ProcessSweep> {
    this.next ??= this.schedule();
    const request = new Deferred<Promise<ProcessSweep>>();
    this.next.requests.push(request);
    if (marks !== undefined) this.next.wanted.add(marks);
    return request.promise;
  }

  private schedule() {
    const next = { wanted: new WantedMarks(), requests: [] as Deferred<Promise<ProcessSweep>>[] };
    const { wanted, requests } = next;
    this.running = this.running.then(async () => {
      await nextTurn();
      this.next = undefined;
      this.count++;
      const sweeping = sweep(wanted);
      await sweeping.catch(() => undefined);
      const pause = pauses();
      for (const request of requests) {
        request.resolve(sweeping);
        await pause();
      }
    });
    return next;
  }
}

async function sweep(wanted: WantedMarks): Promise<ProcessSweep> {
  const pause = pauses();
  const processes = new Map<number, OsProcess>();
  for (const pid of await allPids()) {
    const stat = statOf(pid);
    if (stat !== undefined) processes.set(pid, { pid, ...stat });
    await pause();
  }
  const holders = new Map<string, number[]>();
  const pending = wanted.isEmpty ? [] : [...processes.values()].filter(({ isDefunct }) => !isDefunct);
  const work = async () => {
    for (let next = pending.pop(); next !== undefined; next = pending.pop())
      for (const token of (await wanted.findIn(next.pid, pause)) ?? []) push(holders, token, next.pid);
  };
  await Promise.all(Array.from({ length: parallel }, work));
  return new ProcessSweep(processes, holders);
}

/** Gives a promise to wait for when the slice of this turn is used up. */
function pauses(): () => Promise<void> | undefined {
  let until = performance.now() + sliceMs;
  let pausing: Promise<void> | undefined;
  return () => {
    if (pausing === undefined && performance.now() < until) return undefined;
    pausing ??= nextTurn().then(() => {
      until = performance.now() + sliceMs;
      pausing = undefined;
    });
    return pausing;
  };
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
