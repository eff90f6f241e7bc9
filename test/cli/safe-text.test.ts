import { describe, expect, it } from 'vitest';
import { safeJson, safeText } from '../../src/cli/safe-text.js';

describe('text for a terminal', () => {
  it('shows control, bidi and invisible characters as escapes', () => {
    expect(safeText('a\u001b[31mb\u202ec\u200bd\ne\tf\u2028')).toBe('a\\x1b[31mb\\u{202e}c\\u{200b}d\\ne\\tf\\u{2028}');
    expect(safeText('lone \ud800')).toBe('lone \\u{d800}');
  });

  it('shows what looks like nothing but is a letter or a mark', () => {
    expect(safeText('a\u3164b\u115fc\ufe0fd\u034fe')).toBe('a\\u{3164}b\\u{115f}c\\u{fe0f}d\\u{34f}e');
  });

  it('leaves ordinary text of any language as it is', () => {
    expect(safeText('Zoë 読む 🙂')).toBe('Zoë 読む 🙂');
  });

  it('is cut where it is too long, also when escapes made it so', () => {
    expect(safeText('x'.repeat(300), 10)).toBe('xxxxxxxxx…');
    expect(safeText('\u0000'.repeat(9), 10)).toBe('\\x00\\x00\\…');
    expect(safeText('x'.repeat(10), 10)).toBe('x'.repeat(10));
  });

  it('stays JSON where it was JSON', () => {
    const value = { text: 'a\u202eb\u009bc\u{e0001}\u3164', list: [1] };
    const text = safeJson(value, 2);
    expect(JSON.parse(text)).toEqual(value);
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u);
  });
});
