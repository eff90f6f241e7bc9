import { safeText } from './safe-text.js';

const messageMax = 500;

/** Writes the error and its hint to stderr. */
export function reportError(error: unknown): void {
  const { code, message, hint } = factsOf(error);
  const lines = [`error ${code}: ${safeText(message, messageMax)}`];
  if (hint !== '') lines.push(`hint: ${safeText(hint, messageMax)}`);
  process.stderr.write(`${lines.join('\n')}\n`);
}

/** Recognises the kernel's errors by their members, because importing their class would load the kernel. */
function factsOf(error: unknown): { code: string; message: string; hint: string } {
  if (!(error instanceof Error)) return { code: 'INTERNAL', message: String(error), hint: '' };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'INTERNAL';
  const hint = 'hint' in error && typeof error.hint === 'string' ? error.hint : '';
  return { code, message: error.message, hint };
}
