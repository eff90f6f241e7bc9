import type { JsonValue, Syscalls } from '../../index.js';

/** What an agent is told first: what it knows, its goal and its arguments. The same text whenever the body is run again. */
export function openingPrompt(ctx: Syscalls, args: JsonValue, contextTokens: number): Promise<string> {
  return ctx.step('context', async () => {
    const { payload } = await ctx.memory.read(ctx.goal);
    const parts = [await knowledge(ctx, contextTokens), shown(payload), argumentsText(args)];
    return parts.filter((part) => part !== '').join('\n\n') || 'Begin.';
  });
}

/** Its memory, where that is more than the goal. */
async function knowledge(ctx: Syscalls, tokensMax: number): Promise<string> {
  if (tokensMax === 0) return '';
  const { text, manifest } = await ctx.memory.materialize({ tokensMax });
  const hasMore = manifest.some(({ object, included }) => included && object !== ctx.goal.id);
  return hasMore ? `What you know:\n\n${text}` : '';
}

function argumentsText(args: JsonValue): string {
  const text = shown(args);
  return typeof args === 'string' || text === '' ? text : `Arguments: ${text}`;
}

/** A text as it is, nothing, everything else as JSON. */
function shown(value: JsonValue): string {
  if (typeof value === 'string') return value;
  if (value === null || (typeof value === 'object' && Object.keys(value).length === 0)) return '';
  if (typeof value === 'object' && 'text' in value && Object.keys(value).length === 1) return String(value.text);
  return JSON.stringify(value);
}
