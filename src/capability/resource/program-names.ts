import { type Token, token } from '../../base/token.js';
import type { Request } from './resource.js';

/** The names of programs: a program goes by its bare name and by its files. */
export interface ProgramNames {
  /** Every name of the program that `request`, of the kind `command`, names. Reads the disk. */
  of(request: Request): readonly Request[];
}
export const ProgramNames: Token<ProgramNames> = token('ProgramNames');
