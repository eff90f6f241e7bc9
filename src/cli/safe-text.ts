const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
const bound = 200;

/**
 * Text for a terminal: control, bidi and invisible characters are shown as escapes and change nothing, and what is
 * longer than `max` characters is cut. Everything that a user may have written goes through here.
 */
export function safeText(text: string, max = bound): string {
  const escaped = text.slice(0, max * 2).replace(unsafe, escapeOf);
  const characters = Array.from(escaped);
  const whole = characters.length <= max && text.length <= max * 2;
  return whole ? escaped : `${characters.slice(0, max - 1).join('')}…`;
}

/** JSON that is safe to show: inside JSON, the same characters have escapes of their own. */
export function safeJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, null, indent) ?? 'null').replace(unsafe, (character) =>
    character === '\n' ? character : utf16Escapes(character),
  );
}

function escapeOf(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\t') return '\\t';
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
}

function utf16Escapes(character: string): string {
  let out = '';
  for (let at = 0; at < character.length; at++) {
    out += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
  }
  return out;
}
