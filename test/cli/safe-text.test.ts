import { describe, expect, it } from 'vitest';
import { safeJson, safeText } from '../../src/cli/safe-text.js';

describe('text for a terminal', () => {
  it('shows control, bidi and invisible characters as escapes', () => {
    expect(safeText('a\u001b[31mb\u202ec\u200bd\ne\tf\u2028')).toBe('a\\x1b[31mb\\u{202e}c\\u{200b}d\\ne\\tf\\u{2028}');
    expect(safeText('lone \ud800')).toBe('lone \\u{d800}');
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
    const value = { text: 'a\u202eb\u009bc\u{e0001}', list: [1] };
    const text = safeJson(value, 2);
    expect(JSON.parse(text)).toEqual(value);
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});
