import { createHash } from 'node:crypto';

/** What clients and the models behind them take as a name. */
const nameMax = 64;
const prefix = 'tool_';

/**
 * The names under which tools are offered, each with the tool's own: `fs.read` is offered as `tool_fs_read`. Names that
 * would be the same, or too long, get a part of their hash, so that the order of the tools does not matter.
 */
export function offeredNames(names: readonly string[]): Map<string, string> {
  const plain = names.map((name) => prefix + name.replace(/[^A-Za-z0-9_-]/g, '_'));
  const times = new Map<string, number>();
  for (const name of plain) times.set(name, (times.get(name) ?? 0) + 1);
  return new Map(
    names.map((name, index) => {
      const offered = plain[index] ?? '';
      const isFine = times.get(offered) === 1 && offered.length <= nameMax;
      return [isFine ? offered : marked(offered, name), name];
    }),
  );
}

function marked(offered: string, name: string): string {
  const mark = `_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
  return offered.slice(0, nameMax - mark.length) + mark;
}
