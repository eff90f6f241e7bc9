import { describe, expect, it } from 'vitest';
import { resourceKinds } from '../../../src/capability/resource/resource.js';
import {
  maskOfRights,
  parseRights,
  rights,
  rightsBeyond,
  rightsOfKind,
  rightsOfMask,
  unionRights,
} from '../../../src/capability/resource/rights.js';
import { codeOf } from '../../support/capability/thrown-code.js';

describe('rights', () => {
  it('of each kind are those of the table, and grant', () => {
    expect(Object.fromEntries(resourceKinds.map((kind) => [kind, rightsOfKind(kind).join(' ')]))).toEqual({
      tool: 'call grant',
      command: 'call grant',
      model: 'call grant',
      net: 'call grant',
      fs: 'read write create delete list grant',
      object: 'read write delete materialize link diff grant',
      ns: 'read write create delete list materialize link diff grant',
      process: 'read signal wait send grant',
      image: 'spawn grant',
      secret: 'read grant',
      event: 'read grant',
    });
  });

  it('are read into one order, without duplicates', () => {
    expect(parseRights('fs', ['grant', 'write', 'read', 'write'])).toEqual(['read', 'write', 'grant']);
  });

  it.each(
    resourceKinds.flatMap((kind) =>
      [...rights, 'own', 'toString', '']
        .filter((right) => !(rightsOfKind(kind) as readonly string[]).includes(right))
        .map((right) => [kind, right] as const),
    ),
  )('on %s do not include %j', (kind, right) => {
    expect(codeOf(() => parseRights(kind, [right]))).toBe('INVALID_INPUT');
  });

  it('cannot be none at all', () => {
    expect(codeOf(() => parseRights('fs', []))).toBe('INVALID_INPUT');
  });

  it('are stored as bits whose meaning does not move', () => {
    expect(rights.map((right) => maskOfRights([right]))).toEqual(rights.map((_, index) => 2 ** index));
    expect(rights.join(' ')).toBe(
      'read write create delete list call spawn signal wait send materialize link diff grant',
    );
  });

  it('come back from their bits', () => {
    for (const kind of resourceKinds)
      expect(rightsOfMask(maskOfRights(rightsOfKind(kind)))).toEqual(rightsOfKind(kind));
  });

  it('are joined and compared as sets', () => {
    expect(unionRights(['write'], ['read', 'write'])).toEqual(['read', 'write']);
    expect(rightsBeyond(['read', 'write'], ['write', 'grant'])).toEqual(['read']);
    expect(rightsBeyond(['read'], ['read', 'write'])).toEqual([]);
  });
});
