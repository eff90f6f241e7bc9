import { inject, injectable } from 'inversify';
import { invalidInput, KernelError } from '../../base/errors.js';
import type { ApprovalId, CapabilityId, Pid } from '../../base/ids.js';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { copyPlain, parseSpec, payloadLimits, storedText } from '../../base/spec.js';
import { CaseFolding } from '../resource/case-folding.js';
import { ProgramNames } from '../resource/program-names.js';
import { parseRequest, type Request } from '../resource/resource.js';
import { parseRight, type Right } from '../resource/rights.js';
import { FilePlaces } from '../resource/workspace-files.js';
import type { RuleRecord } from '../rule/rule.js';

/** May `pid` do this? */
export interface Question {
  readonly pid: Pid;
  readonly right: Right;
  /** The resource as it was asked for, and as it is shown. */
  readonly request: Request;
  /**
   * The names that the resource is compared by: an allow must match all of them, a rule matches if it matches one. A file
   * has two where links lead elsewhere.
   */
  readonly names: readonly Request[];
  /**
   * Further names that a rule matches if it matches one; an allow does not go by them. A program has several. May be a
   * getter: it is read only where a rule on the same kind binds the process.
   */
  readonly namesForRules?: readonly Request[];
  /** The file that the links lead to. */
  readonly real?: Request;
  /** One of the names is enough for an allow: an object goes by its id and by its place in a namespace. */
  readonly matchesAnyName?: true;
  /** Links lead out of the workspace, or it is a file of the kernel itself: nothing allows anything there. */
  readonly isOutsideWorkspace?: true;
  /** Absent: whether there are arguments with which it may. */
  readonly args?: JsonValue;
  /** The same arguments with the files that the links of their paths lead to: an allow must accept these as well. */
  readonly realArgs?: JsonValue;
  /** Arguments that the call takes from its process: constraints on them are checked, but need not be there. */
  readonly inheritedArgs?: JsonObject;
  /** The capability whose use was taken for the call that the question is part of: it counts though it is spent by that. */
  readonly continues?: CapabilityId;
  /** The right that a refusal names where the process has neither: which one is needed tells what exists. */
  readonly refusedAs?: Right;
  /** Ask rules that the call has by itself. */
  readonly ownAsks?: readonly RuleRecord[];
  /** Whether the caller can put the arguments of an answer in place. */
  readonly isEditable?: boolean;
  /** The answer that the arguments come from. */
  readonly edit?: AnswerUse;
  /** Only this capability counts. */
  readonly using?: CapabilityId;
  /**
   * The arguments that an approval shows, where the real ones hold secrets; it is bound to the hash of the real ones. May be
   * a getter: it is read only where a person is asked.
   */
  readonly argsForApproval?: JsonValue;
}

/** An answer with edited arguments, which a call is made under. */
export interface AnswerUse {
  readonly approval: ApprovalId;
  /** The call is repeated by a rerun: it has used the answer up already. */
  readonly isContinued: boolean;
}

/** A question about a resource that goes by one name. */
export function plainQuestion(pid: Pid, right: Right, request: Request, args: JsonValue = {}): Question {
  return { pid, right, request, names: [request], args };
}

type QuestionWithArgs = Question & { readonly args: JsonValue };

/** Makes questions from the input of callers. It reads links from the disk, so it is called before the unit. */
@injectable()
export class QuestionParser {
  constructor(
    @inject(CaseFolding) private readonly caseFolding: CaseFolding,
    @inject(FilePlaces) private readonly filePlaces: FilePlaces,
    @inject(ProgramNames) private readonly programNames: ProgramNames,
  ) {}

  /** Copies the arguments once; only that copy is looked at. A promise only for files. Throws INVALID_INPUT. */
  parse(
    pidInput: unknown,
    rightInput: unknown,
    resource: unknown,
    argsInput: unknown,
  ): QuestionWithArgs | Promise<QuestionWithArgs> {
    const request = parseRequest(parseText(resource, 'resource'));
    const right = parseRight(request.kind, parseText(rightInput, 'right'));
    const args = copyPlain(argsInput, 'args', payloadLimits);
    if (!isObject(args)) throw invalidInput('args', 'is not a JSON object', 'Give the arguments by name.');
    const pid = parseText(pidInput, 'pid');
    const question = { pid, right, request, names: [request], args };
    if (request.kind === 'command') return this.withProgramNames(question, request);
    if (request.kind !== 'fs') return question;
    return this.parseFile(pid, right, request).then((question) => ({ ...question, args }));
  }

  private withProgramNames(question: QuestionWithArgs, request: Request): QuestionWithArgs {
    const { programNames } = this;
    return {
      ...question,
      get namesForRules() {
        return programNames.of(request);
      },
    };
  }

  /** A question about a file, by the name that it was asked for and the one where its links lead. */
  async parseFile(pid: Pid, right: Right, request: Request): Promise<Question> {
    const real = await this.resolveLinks(request);
    const folded = this.caseFolding.fold(request);
    const question = { pid, right, request, args: {} };
    if (real === undefined) return { ...question, names: [folded], isOutsideWorkspace: true };
    const names = real.text === request.text ? [folded] : [folded, this.caseFolding.fold(real)];
    return { ...question, names, real };
  }

  /** The name that a resource is compared by. */
  foldCase(request: Request): Request {
    return this.caseFolding.fold(request);
  }

  private async resolveLinks({ segments }: Request): Promise<Request | undefined> {
    const real = await this.filePlaces.real(segments);
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

const plainText = /^[\x20-\x7e]*$/;

/** Skips the schema for texts that need none, which is what nearly every caller gives. Throws INVALID_INPUT. */
function parseText(value: unknown, name: string): string {
  return typeof value === 'string' && plainText.test(value) ? value : parseSpec(storedText, value, name);
}
