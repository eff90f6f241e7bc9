import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

interface Content {
  version: number;
  hash: string | null;
  payload: string | null;
}

/** The rows of memory, and of what points into it. */
export interface MemoryFacts {
  objects: (Content & { id: string; deleted_at: number | null })[];
  /** In the order in which they were written. */
  versions: (Content & { n: number; object: string; branch: number })[];
  overlays: (Content & { view: number; object: string; base_version: number })[];
  payloads: { hash: string; payload: string }[];
  views: { n: number; root: string; base: number | null }[];
  entries: { n: number; view: number; object: string; capability: string }[];
  links: { source: string; target: string }[];
  processes: { pid: string; goal: string; result: string | null }[];
  capabilities: { id: string }[];
}

/** (19) Checks the invariants of objects, their versions and views. */
export function checkMemory(facts: MemoryFacts): string[] {
  return [...checkHashes(facts), ...checkVersions(facts), ...checkReferences(facts)];
}

/** hash(payload) = content hash, for every version. A swept object has only its hash. */
function checkHashes({ objects, versions, overlays, payloads }: MemoryFacts): string[] {
  const stored = new Map(payloads.map(({ hash, payload }) => [hash, payload]));
  const fault = (what: string, { version, hash, payload }: Content) => {
    const text = payload ?? stored.get(hash ?? '');
    if (text === undefined) return [`(19) ${what} has no payload`];
    return hashOf(text) === hash && version >= 1 ? [] : [`(19) ${what} is not what its hash says`];
  };
  return [
    ...payloads.flatMap(({ hash, payload }) => (hashOf(payload) === hash ? [] : [`(19) payload ${hash} is another`])),
    ...objects.filter((object) => !isSwept(object)).flatMap((object) => fault(object.id, object)),
    ...versions.filter(({ version }) => version !== 0).flatMap((row) => fault(`version row ${row.n}`, row)),
    ...overlays.flatMap((row) => fault(`${row.object} in view ${row.view}`, row)),
  ];
}

/**
 * Versions have no gap, in each branch. The main branch begins with 1 and ends with the version of the object; the branch
 * of a view begins after the version it is based on, which a row with version 0 marks, and ends with its overlay.
 */
function checkVersions({ objects, versions, overlays }: MemoryFacts): string[] {
  const branches = new Map<string, number[]>();
  for (const { object, branch, version } of versions) {
    const key = `${object} in branch ${branch}`;
    branches.set(key, [...(branches.get(key) ?? []), version]);
  }
  const expected = new Map<string, number[]>();
  for (const object of objects) {
    if (object.version > 1 && !isSwept(object)) {
      expected.set(`${object.id} in branch 0`, rangeTo(object.version - 1, 1));
    }
  }
  for (const { object, view, version, base_version } of overlays) {
    expected.set(`${object} in branch ${view}`, [0, ...rangeTo(version - 1, base_version + 1)]);
  }
  return [...new Set([...branches.keys(), ...expected.keys()])].flatMap((key) => {
    const [found, wanted] = [branches.get(key) ?? [], expected.get(key) ?? []].map((list) => list.join(' '));
    return found === wanted ? [] : [`(19) ${key} has the earlier versions ${found}, not ${wanted}`];
  });
}

/** Goals, results, roots, entries and links refer to existing objects; bases and capabilities exist too. */
function checkReferences({ objects, views, entries, links, processes, capabilities }: MemoryFacts): string[] {
  const known = new Set(objects.map(({ id }) => id));
  const numbers = new Set(views.map(({ n }) => n));
  const held = new Set(capabilities.map(({ id }) => id));
  const wrong: string[] = [];
  for (const { n, root, base } of views) {
    if (!known.has(root)) wrong.push(`(19) view ${n} has no root`);
    if (base !== null && !(numbers.has(base) && base < n)) wrong.push(`(19) view ${n} has no base`);
  }
  for (const { n, view, object, capability } of entries) {
    if (!known.has(object)) wrong.push(`(19) entry ${n} has no object`);
    if (!numbers.has(view)) wrong.push(`(19) entry ${n} has no view`);
    // A row that removes an object names no capability.
    if (capability !== '' && !held.has(capability)) wrong.push(`(19) entry ${n} has no capability`);
  }
  for (const { source, target } of links) {
    if (!known.has(source) || !known.has(target)) wrong.push(`(19) a link from ${source} to ${target} dangles`);
  }
  for (const { pid, goal, result } of processes) {
    if (!known.has(goal)) wrong.push(`(19) ${pid} has no goal`);
    if (result !== null && !known.has(result)) wrong.push(`(19) ${pid} has no result`);
  }
  return wrong;
}

/** Whether the payload was removed because nobody can reach the object. */
function isSwept({ deleted_at, payload }: MemoryFacts['objects'][number]): boolean {
  return deleted_at !== null && payload === 'null';
}

function hashOf(text: string): string {
  return createHash('sha256')
    .update(canonicalize(JSON.parse(text)) ?? '')
    .digest('hex');
}

function rangeTo(last: number, first: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
}
