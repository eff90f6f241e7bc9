import { namesProcess, type Pattern, type Request, type ResourceKind } from './resource.js';

/** Indexes items by patterns. The cost of a lookup grows with the segments of the request, not with the items. */
export class PatternIndex<Item> {
  private readonly kinds = new Map<ResourceKind, Node<Item>>();

  add(pattern: Pattern, item: Item): void {
    this.change(pattern, (items) => withItem(items, item));
  }

  remove(pattern: Pattern, item: Item): void {
    this.change(pattern, (items) => withoutItem(items, item));
  }

  /** Whether an item with a pattern of the kind was ever added. */
  hasKind(kind: ResourceKind): boolean {
    return this.kinds.has(kind);
  }

  /** Those whose pattern matches `request`, in no order. */
  findMatching(request: Request): Item[] {
    const found: Item[] = [];
    const root = this.kinds.get(request.kind);
    // A process's own namespace is reached only by a pattern that spells it, so by no wildcard at the first place.
    const isPrivate = namesProcess(request);
    const from = isPrivate ? root?.literals?.get('process') : root;
    if (from !== undefined) collect(from, request, isPrivate ? 1 : 0, found);
    return found;
  }

  /** Replaces the items of one pattern. */
  private change({ kind, segments, rest }: Pattern, update: (items: Items<Item>) => Items<Item>): void {
    let node = getOrCreate(this.kinds, kind);
    for (const segment of segments) node = childOf(node, segment);
    if (rest) node.rest = update(node.rest);
    else node.exact = update(node.exact);
  }
}

/** A single item is stored without an array: most patterns have one, and an array costs two more memory accesses. */
type Items<Item> = Item | Item[] | undefined;

function withItem<Item>(items: Items<Item>, item: Item): Items<Item> {
  if (items === undefined) return item;
  if (!Array.isArray(items)) return [items, item];
  items.push(item);
  return items;
}

function withoutItem<Item>(items: Items<Item>, item: Item): Items<Item> {
  if (!Array.isArray(items)) return items === item ? undefined : items;
  const index = items.indexOf(item);
  if (index >= 0) items.splice(index, 1);
  return items.length > 1 ? items : items[0];
}

/** The patterns that share a prefix. Its maps are created on demand, because there may be a node for every item. */
class Node<Item> {
  literals: Map<string, Node<Item>> | undefined;
  /** For the segment `*`. */
  star: Node<Item> | undefined;
  /** For segments `*.host`, by the host. */
  suffixes: Map<string, Node<Item>> | undefined;
  /** Items of patterns that end here. */
  exact: Items<Item>;
  /** Items of patterns that end here with `**`. */
  rest: Items<Item>;
}

function childOf<Item>(node: Node<Item>, segment: string): Node<Item> {
  if (segment === '*') {
    node.star ??= new Node();
    return node.star;
  }
  if (segment.startsWith('*.')) {
    node.suffixes ??= new Map();
    return getOrCreate(node.suffixes, segment.slice(2));
  }
  node.literals ??= new Map();
  return getOrCreate(node.literals, segment);
}

function getOrCreate<Key, Item>(nodes: Map<Key, Node<Item>>, key: Key): Node<Item> {
  const known = nodes.get(key);
  if (known !== undefined) return known;
  const node = new Node<Item>();
  nodes.set(key, node);
  return node;
}

function collect<Item>(node: Node<Item>, request: Request, index: number, found: Item[]): void {
  pushAll(node.rest, found);
  const segment = request.segments[index];
  if (segment === undefined) {
    pushAll(node.exact, found);
    return;
  }
  const literal = node.literals?.get(segment);
  if (literal !== undefined) collect(literal, request, index + 1, found);
  if (node.star !== undefined) collect(node.star, request, index + 1, found);
  if (node.suffixes === undefined) return;
  for (const suffix of hostSuffixesOf(segment)) {
    const child = node.suffixes.get(suffix);
    if (child !== undefined) collect(child, request, index + 1, found);
  }
}

function pushAll<Item>(items: Items<Item>, found: Item[]): void {
  if (!Array.isArray(items)) {
    if (items !== undefined) found.push(items);
    return;
  }
  for (const item of items) found.push(item);
}

/** The hosts `h` for which the pattern `*.h` includes `host`: every tail of whole labels except `host` itself. */
function hostSuffixesOf(host: string): string[] {
  const labels = host.split('.');
  return labels.slice(1).map((_, index) => labels.slice(index + 1).join('.'));
}

/** The first segments are tried without probing whether any stored pattern begins so: two choices each, so four texts. */
const unprobedSegments = 2;

/** Whether any stored pattern begins with `prefix`. */
export type HasPrefix = (prefix: string) => Promise<boolean>;

/**
 * The texts of all patterns that could include `resource`, a request or another pattern. There is one for every choice
 * of a name or a wildcard at each segment, so beyond the first segments only prefixes that are stored are followed.
 */
export async function coveringTexts(resource: Pattern | Request, hasPrefix: HasPrefix): Promise<string[]> {
  const { kind, segments } = resource;
  const endsInRest = resource.form === 'pattern' && resource.rest;
  if (kind === 'net') return netTexts(segments);
  const texts: string[] = [];
  let prefixes = [`${kind}:`];
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1;
    const choices = segment === '*' || isSpelledOut(resource, index) ? [segment] : [segment, '*'];
    const next: string[] = [];
    for (const prefix of prefixes) {
      texts.push(`${prefix}**`);
      for (const choice of choices) {
        if (isLast && !endsInRest) texts.push(prefix + choice);
        next.push(`${prefix}${choice}/`);
      }
    }
    prefixes = index < unprobedSegments ? next : await keepExisting(next, hasPrefix);
  }
  texts.push(...prefixes.map((prefix) => `${prefix}**`));
  if (segments.length === 0 && !endsInRest) texts.push(`${kind}:.`);
  return texts;
}

/** A process's own namespace is included only by patterns that spell it. */
function isSpelledOut(resource: Pattern | Request, index: number): boolean {
  return index < 2 && namesProcess(resource);
}

async function keepExisting(prefixes: readonly string[], hasPrefix: HasPrefix): Promise<string[]> {
  const existing: string[] = [];
  for (const prefix of prefixes) if (await hasPrefix(prefix)) existing.push(prefix);
  return existing;
}

function netTexts([host = '', port = '']: readonly string[]): string[] {
  const hosts = new Set([host, '*', ...hostSuffixesOf(host).map((suffix) => `*.${suffix}`)]);
  const ports = new Set([port, '*']);
  return ['net:**', ...[...hosts].flatMap((hostText) => [...ports].map((portText) => `net:${hostText}/${portText}`))];
}
