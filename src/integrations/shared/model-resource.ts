import { CapabilityError, type Syscalls } from '../../index.js';

/**
 * The resource of a model: `model:FAMILY/NAME`. Characters that a resource cannot have are written as percent codes.
 *
 * @example toModelResource('langchain', 'gpt-5') === 'model:langchain/gpt-5'
 */
export function toModelResource(family: string, name: string): string {
  return `model:${[family, ...name.split('/')].map(encodeSegment).join('/')}`;
}

function encodeSegment(text: string): string {
  if (text === '' || text === '.' || text === '..') return `%${text.replaceAll('.', '2E')}`;
  return text.toWellFormed().replaceAll(/[^A-Za-z0-9._:@+-]/gu, toPercentCode);
}

function toPercentCode(character: string): string {
  return [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

/**
 * Checks again that the process may call the model: the turn may have begun long ago, and the capability may have been
 * revoked since. SPENT is no refusal, because the turn itself may have used the last use. Throws CAPABILITY_DENIED.
 */
export async function assertStillAllowed(ctx: Syscalls, resource: string): Promise<void> {
  const { effect, code, reason } = await ctx.capabilities.check('call', resource);
  if (effect !== 'deny' || code === 'SPENT') return;
  throw new CapabilityError('CAPABILITY_DENIED', `Process ${ctx.pid} may not call ${resource} any more.`, {
    facts: { pid: ctx.pid, right: 'call', resource, code },
    hint: `${reason} Grant it anew, or lift the rule.`,
  });
}
