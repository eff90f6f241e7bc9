import { inject, injectable } from 'inversify';
import { errorText } from '../../base/errors.js';
import { Logger } from '../../base/logger.js';
import { type ReadTx, Store } from '../../base/store.js';
import { LiveNodes } from '../../kernel/node/live-nodes.js';
import { type Obstacle, Placement } from '../../kernel/node/placement.js';
import { ClaimRepository, type RunnableCount } from '../../kernel/process/claim-repository.js';
import { ProcessRepository } from '../../kernel/process/process-repository.js';

const tellEveryMs = 60_000;
/** A host that registers its images after the start is not warned of those that it has not come to yet. */
const firstCheckMs = 1_000;
const groupsMax = 100;

interface Unplaced extends RunnableCount {
  readonly obstacle: Obstacle;
  readonly pid: string;
}

/** Tells the logger, once a minute, of runnable processes that no live node can run. */
@injectable()
export class UnplacedProcesses {
  /** When each group was last told, by the monotonic clock. */
  private readonly toldAt = new Map<string, number>();
  private interval: NodeJS.Timeout | undefined;
  private timer: NodeJS.Timeout | undefined;
  private checkedAt = Number.NEGATIVE_INFINITY;
  private running: Promise<void> = Promise.resolve();

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ClaimRepository) private readonly claimable: ClaimRepository,
    @inject(LiveNodes) private readonly nodes: LiveNodes,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  start(): void {
    this.interval = setInterval(() => this.check(), tellEveryMs).unref();
    this.checkSoon();
  }

  async stop(): Promise<void> {
    clearInterval(this.interval);
    this.interval = undefined;
    clearTimeout(this.timer);
    await this.running;
  }

  /** To be called when a runnable process was found that this node cannot run. */
  checkSoon(): void {
    if (this.interval === undefined || this.timer !== undefined) return;
    const sinceCheck = performance.now() - this.checkedAt;
    const delayMs = Math.max(firstCheckMs, 10 * firstCheckMs - sinceCheck);
    this.timer = setTimeout(() => this.check(), delayMs).unref();
  }

  private check(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.checkedAt = performance.now();
    this.running = this.running.then(() => this.findAndTell());
  }

  private async findAndTell(): Promise<void> {
    try {
      const unplaced = await this.store.read((tx) => this.find(tx));
      const keys = new Set(unplaced.map(keyOf));
      for (const key of this.toldAt.keys()) if (!keys.has(key)) this.toldAt.delete(key);
      for (const group of unplaced) this.tell(group);
    } catch (error) {
      this.logger.error({ problem: errorText(error) }, 'processes that no node can run could not be looked for');
    }
  }

  private async find(tx: ReadTx): Promise<Unplaced[]> {
    const groups = await this.claimable.countRunnable(tx, groupsMax);
    if (groups.length === 0) return [];
    const placement = new Placement(await this.nodes.findOffers(tx));
    const unplaced: Unplaced[] = [];
    for (const group of groups) {
      const obstacle = placement.findObstacle(group.image, group.queue);
      if (obstacle === undefined) continue;
      const pid = (await this.processes.findByNumber(tx, group.first))?.pid ?? '';
      unplaced.push({ ...group, obstacle, pid });
    }
    return unplaced;
  }

  private tell(group: Unplaced): void {
    const now = performance.now();
    const last = this.toldAt.get(keyOf(group));
    // Timers of the same interval may be a little early.
    if (last !== undefined && now - last < 0.9 * tellEveryMs) return;
    this.toldAt.set(keyOf(group), now);
    const { image, queue, processes, pid, obstacle } = group;
    const missing = obstacle.missing ?? [];
    const wanted =
      obstacle.kind === 'tools' ? `tools that no node has (${missing.join(', ')})` : 'a node with its image and queue';
    const others = processes === 1 ? '' : ` and ${processes - 1} more`;
    const message = `process ${pid}${others} of image ${image} in queue ${queue} waits for ${wanted}`;
    this.logger.warn({ pid, image, queue, processes, kind: obstacle.kind, missing: [...missing] }, message);
  }
}

function keyOf({ image, queue, obstacle }: Unplaced): string {
  return JSON.stringify([image, queue, obstacle.kind, obstacle.missing]);
}
