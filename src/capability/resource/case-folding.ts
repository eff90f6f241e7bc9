import { inject, injectable } from 'inversify';
import { type Pattern, type Request, storedPattern } from './resource.js';
import { FilePlaces } from './workspace-files.js';

/**
 * Resources as they are compared. Where upper and lower case name the same file, `fs:` names are folded; everywhere
 * else they stay as they are spelled.
 */
@injectable()
export class CaseFolding {
  constructor(@inject(FilePlaces) private readonly filePlaces: FilePlaces) {}

  /** Whether two spellings of `kind` can be one name, so that equal texts are not the only equal names. */
  appliesTo(kind: string): boolean {
    return kind === 'fs' && this.filePlaces.foldsCase;
  }

  /** Of a stored text. */
  foldStored(text: string): Pattern {
    return this.foldSegments(storedPattern(text));
  }

  fold(fold: Request): Request {
    return this.foldSegments(fold);
  }

  /** Something with a pattern, to be held against another; the text of the pattern stays as it is spelled. */
  foldPattern<T extends { readonly pattern: Pattern }>(authority: T): T {
    return this.appliesTo(authority.pattern.kind)
      ? { ...authority, pattern: this.foldSegments(authority.pattern) }
      : authority;
  }

  private foldSegments<T extends Pattern | Request>(resource: T): T {
    if (!this.appliesTo(resource.kind)) return resource;
    return { ...resource, segments: resource.segments.map(foldCase) };
  }
}

/**
 * Through upper case first, so that letters with several lower-case forms become one. A dotless i stays: on such volumes
 * it is another letter than i, although both have the same upper case.
 */
function foldCase(name: string): string {
  const parts = name.split('\u0131');
  return parts.map((part) => part.toUpperCase().toLowerCase()).join('\u0131');
}
