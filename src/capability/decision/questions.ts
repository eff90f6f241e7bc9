import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { invalidInput, KernelError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { copyPlain, payloadLimits } from '../../base/plain.js';
import { parseSpec } from '../../base/spec.js';
import { isObject } from '../constraint/json-compare.js';
import { CaseFolding } from '../resource/case-folding.js';
import { parseRequest, type Request } from '../resource/resource.js';
import { parseRight, type Right } from '../resource/rights.js';
import { FilePlaces } from '../resource/workspace-files.js';
import type { Question } from './question.js';

type Answered = Question & { readonly args: JsonValue };

/** Makes questions of what callers ask. Looks at the disk for files, so it stands before the unit. */
@injectable()
export class Questions {
  constructor(
    @inject(CaseFolding) private readonly names: CaseFolding,
    @inject(FilePlaces) private readonly places: FilePlaces,
  ) {}

  /** Throws INVALID_INPUT. The arguments are copied once; that copy is what is looked at. Only files need the promise. */
  of(pid: unknown, right: unknown, resource: unknown, args: unknown): Answered | Promise<Answered> {
    const request = parseRequest(text(resource, 'resource'));
    const asked = parseRight(request.kind, text(right, 'right'));
    const copied = copyPlain(args, 'args', payloadLimits);
    if (!isObject(copied)) throw invalidInput('args', 'is not a JSON object', 'Give the arguments by name.');
    const question = { pid: text(pid, 'pid'), right: asked, request, names: [request], args: copied };
    if (request.kind !== 'fs') return question;
    return this.file(question.pid, asked, request).then((file) => ({ ...file, args: copied }));
  }

  /** About a file, by the name that it was asked for and the one where its links lead. */
  async file(pid: Pid, right: Right, request: Request): Promise<Question> {
    const real = await this.real(request);
    const spelled = this.names.request(request);
    const question = { pid, right, request, args: {} };
    if (real === undefined) return { ...question, names: [spelled], isOutside: true };
    const names = real.text === request.text ? [spelled] : [spelled, this.names.request(real)];
    return { ...question, names, real };
  }

  /** The name that a resource is compared by. */
  compared(request: Request): Request {
    return this.names.request(request);
  }

  private async real({ segments }: Request): Promise<Request | undefined> {
    const real = await this.places.real(segments);
    if (real === undefined) return undefined;
    try {
      return parseRequest(`fs:${real.join('/') || '.'}`);
    } catch (error) {
      // The disk has names that no resource can spell: nothing can allow them.
      if (error instanceof KernelError) return undefined;
      throw error;
    }
  }
}

const anyText = z.string();

/** Throws INVALID_INPUT. A text, which is what nearly everybody gives, needs no schema. */
function text(value: unknown, name: string): string {
  return typeof value === 'string' ? value : parseSpec(anyText, value, name);
}
