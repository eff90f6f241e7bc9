import { safeText } from './safe-text.js';

const messageMax = 500;

/** Two lines on stderr: what happened, and what to do about it. */
export function reportError(error: unknown): void {
  const { code, message, hint } = facts(error);
  const lines = [`error ${code}: ${safeText(message, messageMax)}`];
  if (hint !== '') lines.push(`hint: ${safeText(hint, messageMax)}`);
  process.stderr.write(`${lines.join('\n')}\n`);
}

/** The kernel's errors are told by their members: asking for their class would load the kernel. */
function facts(error: unknown): { code: string; message: string; hint: string } {
  if (!(error instanceof Error)) return { code: 'INTERNAL', message: String(error), hint: '' };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'INTERNAL';
  const hint = 'hint' in error && typeof error.hint === 'string' ? error.hint : '';
  return { code, message: error.message, hint };
}
