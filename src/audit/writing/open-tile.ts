import type { Hash } from '../../base/json.js';
import { tileLeaves } from '../merkle/tiles.js';

/** The newest records of the log that are in no full tile yet, as one writer has left them. */
export interface OpenTile {
  /** The number of records of the log. */
  readonly size: number;
  /** The hashes of its last `size % tileLeaves` records. */
  readonly hashes: readonly Hash[];
}

/** The hashes from the begin of the tile that is open at `from` records; undefined where this writer has not seen them all. */
export function hashesOfOpenTile(tile: OpenTile, from: number, newest: Hash | undefined): readonly Hash[] | undefined {
  if (from % tileLeaves === 0) return [];
  return tile.size === from && tile.hashes.at(-1) === newest ? tile.hashes : undefined;
}

/** What is open after records with these hashes were added; `before` as `hashesOfOpenTile` has it. */
export function openTileAfter(from: number, before: readonly Hash[] | undefined, added: readonly Hash[]): OpenTile {
  const size = from + added.length;
  const begin = size - (size % tileLeaves);
  if (begin >= from) return { size, hashes: added.slice(begin - from) };
  return before === undefined ? { size: 0, hashes: [] } : { size, hashes: [...before, ...added] };
}
