import { type ProcessRow, queueOf, type WaitFacet } from '../process/process.js';
import type { NodeOffers } from './node-repository.js';

/** Why no live node can run a process. */
export interface Obstacle extends Pick<WaitFacet, 'kind' | 'what' | 'missing'> {
  readonly kind: 'image' | 'tools';
}

/** Whether an entry of an image's tool table, a name or `NAME/**`, stands for this tool. */
export function matchesToolEntry(entry: string, name: string): boolean {
  return entry.endsWith('/**') ? name.startsWith(entry.slice(0, -2)) : entry === name;
}

/** The entries of a tool table that no tool of `names` stands for. */
export function missingTools(table: readonly string[], names: ReadonlySet<string>): string[] {
  return table.filter((entry) => !names.has(entry) && ![...names].some((name) => matchesToolEntry(entry, name)));
}

/** Tells for processes whether a live node can run them, by what these nodes offer; null: that is not known of a node. */
export class Placement {
  private readonly nodes: readonly { readonly offers: NodeOffers; readonly tools: ReadonlySet<string> }[];
  private readonly isKnown: boolean;
  private readonly obstacles = new Map<string, Obstacle | undefined>();

  constructor(offers: readonly (NodeOffers | null)[]) {
    const known = offers.filter((offer) => offer !== null);
    this.isKnown = known.length === offers.length;
    this.nodes = known.map((offer) => ({ offers: offer, tools: new Set(offer.tools) }));
  }

  /** Undefined if a live node can run a process of the image from this queue, or may be able to. */
  findObstacle(image: string, queue: string): Obstacle | undefined {
    const key = `${queue} ${image}`;
    if (!this.obstacles.has(key)) this.obstacles.set(key, this.computeObstacle(image, queue));
    return this.obstacles.get(key);
  }

  /** The wait of a runnable process for a node that can run it. */
  waitOf(row: ProcessRow): WaitFacet | undefined {
    if (row.status !== 'runnable') return undefined;
    const obstacle = this.findObstacle(row.image, queueOf(row));
    return obstacle === undefined ? undefined : { ...obstacle, since: row.updatedAt };
  }

  private computeObstacle(image: string, queue: string): Obstacle | undefined {
    if (!this.isKnown) return undefined;
    const having = this.nodes.filter(({ offers }) => Object.hasOwn(offers.images, image));
    const serving = having.filter(({ offers }) => offers.queues.includes(queue));
    if (having.length === 0) return { kind: 'image', what: image };
    if (serving.length === 0) return { kind: 'image', what: image, missing: [`queue:${queue}`] };
    const lacks = serving.map(({ offers, tools }) => missingTools(offers.images[image]?.tools ?? [], tools));
    const [least = []] = lacks.sort((a, b) => a.length - b.length);
    return least.length === 0 ? undefined : { kind: 'tools', what: image, missing: least };
  }
}
