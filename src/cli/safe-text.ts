const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
const defaultMax = 200;

/**
 * Text for a terminal: control, bidi and invisible characters are replaced by escapes, and the text is cut to `max`
 * characters. All text that may come from users or models must go through here before it is printed.
 */
export function safeText(text: string, max = defaultMax): string {
  const escaped = text.slice(0, max * 2).replace(unsafe, escapeOf);
  const characters = Array.from(escaped);
  const whole = characters.length <= max && text.length <= max * 2;
  return whole ? escaped : `${characters.slice(0, max - 1).join('')}…`;
}

/** JSON for a terminal: the same characters are replaced by JSON escapes, so that it stays valid JSON. */
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
  for (let index = 0; index < character.length; index++) {
    out += `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }
  return out;
}
