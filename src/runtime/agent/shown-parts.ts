import { canonicalJson, type JsonValue } from '../../base/json.js';
import type { TurnPart } from './agent-part.js';
import type { LiveTurn } from './live-turns.js';

/** The parts of a live turn that a reader has got, and what is left of it when it is committed. */
export class ShownParts {
  /** The number of parts that were shown, the last one perhaps only up to `chars`. */
  private count = 0;
  private chars = 0;
  private live: LiveTurn | undefined;

  /** The parts, and pieces of texts, that were published since the last call. */
  *next(live: LiveTurn): Generator<TurnPart> {
    if (this.live !== live) this.begin(live);
    while (this.count < live.parts.length || this.isGrown(live)) {
      if (this.isGrown(live)) this.count--;
      else this.chars = 0;
      const part = live.parts[this.count] as TurnPart;
      const piece = pieceFrom(part, this.chars);
      this.count++;
      this.chars = textOf(part)?.length ?? 0;
      yield piece;
    }
  }

  /** The parts of a committed group that were not shown; all of them, where it is another turn than the one shown. */
  remainderOf(group: readonly TurnPart[]): TurnPart[] {
    const shown = this.shownParts();
    this.begin(undefined);
    const left = { text: textsOf(shown, 'text'), reasoning: textsOf(shown, 'reasoning') };
    const isSame =
      textsOf(group, 'text').startsWith(left.text) && textsOf(group, 'reasoning').startsWith(left.reasoning);
    if (!isSame) return [...group];
    const others = shown.filter((part) => textOf(part) === undefined).map(textOfPart);
    return group.flatMap((part): TurnPart[] => {
      if (part.type === 'text' || part.type === 'reasoning') {
        const skipped = Math.min(part.text.length, left[part.type].length);
        left[part.type] = left[part.type].slice(skipped);
        return skipped === part.text.length ? [] : [{ ...part, text: part.text.slice(skipped) }];
      }
      const at = others.indexOf(textOfPart(part));
      if (at < 0) return [part];
      others.splice(at, 1);
      return [];
    });
  }

  private begin(live: LiveTurn | undefined): void {
    this.live = live;
    this.count = 0;
    this.chars = 0;
  }

  /** Whether the part that was shown last has got longer. */
  private isGrown(live: LiveTurn): boolean {
    const last = this.count === 0 ? undefined : live.parts[this.count - 1];
    return last !== undefined && (textOf(last)?.length ?? 0) > this.chars;
  }

  private shownParts(): TurnPart[] {
    const parts = this.live?.parts.slice(0, this.count) ?? [];
    const last = parts.at(-1);
    return last === undefined || textOf(last) === undefined
      ? parts
      : [...parts.slice(0, -1), pieceUpTo(last, this.chars)];
  }
}

/** The text of a part that may grow. */
function textOf(part: TurnPart): string | undefined {
  if (part.type === 'text' || part.type === 'reasoning') return part.text;
  return part.type === 'tool-call' ? part.delta : undefined;
}

function pieceFrom(part: TurnPart, chars: number): TurnPart {
  return withText(part, (text) => text.slice(chars));
}

function pieceUpTo(part: TurnPart, chars: number): TurnPart {
  return withText(part, (text) => text.slice(0, chars));
}

function withText(part: TurnPart, cut: (text: string) => string): TurnPart {
  if (part.type === 'text' || part.type === 'reasoning') return { ...part, text: cut(part.text) };
  return part.type === 'tool-call' && part.delta !== undefined ? { ...part, delta: cut(part.delta) } : part;
}

function textsOf(parts: readonly TurnPart[], type: 'text' | 'reasoning'): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('');
}

function textOfPart(part: TurnPart): string {
  return canonicalJson(part as object as JsonValue);
}
