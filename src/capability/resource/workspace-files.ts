import { type Token, token } from '../../base/token.js';

/** The files that `fs:` resources name: where they really lie, and which spellings are the same name. */
export interface FilePlaces {
  /** Absolute path of the workspace. */
  readonly workspace: string;
  /** Whether names that differ only in case name the same file. */
  readonly foldsCase: boolean;
  /**
   * Where a workspace-relative path leads when its links are followed; what is not there yet counts as it is spelled.
   * Undefined when that is outside the workspace, belongs to the kernel itself, or cannot be told.
   */
  real(segments: readonly string[]): Promise<readonly string[] | undefined>;
}
export const FilePlaces: Token<FilePlaces> = token('FilePlaces');
