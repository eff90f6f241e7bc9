import { inject, injectable } from 'inversify';
import { type Pattern, type Request, storedPattern } from './resource.js';
import { FilePlaces } from './workspace-files.js';

/**
 * Folds resources to the form in which they are compared. Where upper and lower case name the same file, `fs:` names are
 * folded; all other names stay as they are spelled.
 */
@injectable()
export class CaseFolding {
  constructor(@inject(FilePlaces) private readonly filePlaces: FilePlaces) {}

  /** Whether different texts of this kind can name the same resource. */
  appliesTo(kind: string): boolean {
    return kind === 'fs' && this.filePlaces.foldsCase;
  }

  /** The folded pattern of a stored text. */
  foldStored(text: string): Pattern {
    return this.foldSegments(storedPattern(text));
  }

  fold(request: Request): Request {
    return this.foldSegments(request);
  }

  /** The authority with its pattern folded; the text of the pattern stays as it is spelled. */
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
 * Goes through upper case first, so that letters with several lower-case forms become one. A dotless i stays: on such volumes
 * it is another letter than i, although both have the same upper case.
 */
function foldCase(name: string): string {
  const parts = name.split('\u0131');
  return parts.map((part) => part.toUpperCase().toLowerCase()).join('\u0131');
}
