import { injectable } from 'inversify';
import type { ProgramNames } from '../../capability/resource/program-names.js';
import { parseRequest, type Request } from '../../capability/resource/resource.js';
import { resourcesOfProgram } from './programs.js';

/** The names that programs of this machine go by. */
@injectable()
export class SystemProgramNames implements ProgramNames {
  of({ segments: [first = '', ...others] }: Request): readonly Request[] {
    if (first === 'abs' && others.length > 0) return this.find(`/${others.join('/')}`, '/');
    return others.length === 0 ? this.find(first, '/') : [];
  }

  /** Every name of the program that a command names; one with a slash is relative to `folder`. */
  find(name: string, folder: string): readonly Request[] {
    return resourcesOfProgram(name, folder, process.env.PATH ?? '').flatMap(toRequest);
  }
}

function toRequest(resource: string): Request[] {
  try {
    return [parseRequest(resource)];
  } catch {
    // The disk has names that no rule can spell.
    return [];
  }
}
