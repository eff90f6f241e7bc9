import path from 'node:path';
import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Clock, type KernelClock } from '../../base/clock.js';
import { InputError, KernelError } from '../../base/errors.js';
import type { CapabilityId, Pid } from '../../base/ids.js';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { copyPlain, parseSpec, payloadLimits } from '../../base/spec.js';
import { AuthorityCache } from '../../capability/decision/authority-cache.js';
import { allows, hashOfArgs } from '../../capability/decision/decide.js';
import type { DecisionCode } from '../../capability/decision/decision.js';
import { type AnswerUse, type Question, QuestionParser } from '../../capability/decision/question.js';
import { parseRequest } from '../../capability/resource/resource.js';
import { maskOfRights } from '../../capability/resource/rights.js';
import { FilePlaces } from '../../capability/resource/workspace-files.js';
import type { RuleRecord } from '../../capability/rule/rule.js';
import type { Effect } from '../../kernel/face/process-tools.js';
import type { TakenUses } from '../../kernel/face/tool-gate.js';
import type { ProcessRow } from '../../kernel/process/process.js';
import { workspacePath } from '../../kernel/workspace/working-directory.js';
import type { ApprovalFacts, ToolPlace, ToolResource } from '../tool.js';
import type { ParsedTool } from '../tool-definition.js';
import { callCancelled, toolFailed } from '../tool-errors.js';
import { type CallEnds, validateWithin } from './call-time-limit.js';

/** A call with validated arguments, and the questions that decide whether it may run. The values that are checked are the values that run. */
export interface PreparedCall {
  readonly tool: ParsedTool;
  readonly place: ToolPlace;
  readonly args: JsonValue;
  readonly argsHash: string;
  /** The arguments as they may be recorded: without secrets. Absent for a call that was going to be refused. */
  readonly shown?: JsonValue;
  readonly effect: Effect;
  /** What the tool is told to say whether a person has to approve it. */
  readonly facts: ApprovalFacts;
  /** Everything that must be allowed: `call` on the tool first, then its resources. */
  readonly questions: readonly [Question, ...Question[]];
  /** The resources that the tool declared for these arguments. */
  readonly resources: readonly ToolResource[];
  /** The absolute real paths of the files among the resources, by the text of the resource. */
  readonly files: ReadonlyMap<string, string>;
}

/** The part of a request for a call that comes from its caller. */
interface CallInput {
  readonly args: unknown;
  readonly using: CapabilityId | undefined;
  /** The uses that an earlier run took for the same call. */
  readonly taken: TakenUses | undefined;
  /** The answer that the arguments come from. */
  readonly edit: AnswerUse | undefined;
}

const resourceList = z
  .array(
    z.strictObject({
      right: z.string(),
      resource: z.string(),
      args: z.custom<JsonValue>().optional(),
      refusedAs: z.string().optional(),
    }),
  )
  .max(256);

/** Does the part of a call that cannot run inside a unit: validates by schema, calls functions of the tool, looks at the disk. */
@injectable()
export class CallPreparer {
  constructor(
    @inject(QuestionParser) private readonly questions: QuestionParser,
    @inject(FilePlaces) private readonly filePlaces: FilePlaces,
    @inject(AuthorityCache) private readonly authority: AuthorityCache,
    @inject(Clock) private readonly clock: KernelClock,
  ) {}

  /**
   * Throws INVALID_INPUT, INVALID_PATH, TOOL_FAILED when a function of the tool throws, and TOOL_TIMEOUT or CANCELLED when
   * a schema from outside is at work too long. `isRepeated`: the decision was another one than expected.
   */
  async prepare(
    tool: ParsedTool,
    row: ProcessRow,
    input: CallInput,
    ends: CallEnds,
    isRepeated: boolean,
  ): Promise<PreparedCall> {
    const { pid, cwd } = row;
    const { name } = tool;
    const place = { pid, cwd, workspace: this.filePlaces.workspace };
    const args = deepFreeze(withWorkspacePaths(tool, await this.parseArgs(tool, pid, input.args, ends), place));
    const argsHash = hashOfArgs(args);
    const resources = this.resourcesOf(tool, args, place);
    const unpaid = await this.questionsOf(pid, resources);
    const realArgs = await this.realArgsOf(tool, args, unpaid);
    const callWithArgs = {
      ...callQuestion(tool, pid, args, input.using),
      ...(realArgs === undefined ? {} : { realArgs }),
    };
    const taken = input.taken?.argsHash === argsHash ? input.taken : undefined;
    const call = continueUse(callWithArgs, taken, 0);
    const others = unpaid.map((question, index) => continueUse(question, taken, index + 1));
    const shown = await this.shownUnlessRefused(tool, args, [call, ...others], isRepeated);
    const effect = callToolFunction(name, () => tool.effectOf?.(args as never)) ?? tool.effect;
    const facts = { ...place, image: row.image, effect };
    const held: Partial<Question> = {
      ownAsks: ownAsksOf(tool, args, facts),
      // The caller of an external tool has its arguments already.
      isEditable: tool.external !== true,
      ...(input.edit === undefined ? {} : { edit: input.edit }),
    };
    return {
      tool,
      place,
      args,
      argsHash,
      ...shown,
      effect,
      facts,
      questions: [{ ...call, ...held, argsForApproval: shown.shown ?? null }, ...others],
      resources,
      files: new Map(others.flatMap(({ request, real = request }) => this.filePathOf(request.text, real))),
    };
  }

  /**
   * The question of a call that would be refused with any arguments, so that they need not be looked at: no capability on
   * the tool can be used, or a rule denies all its calls. Undefined otherwise.
   */
  async hopelessQuestion(
    tool: ParsedTool,
    pid: Pid,
    using: CapabilityId | undefined,
    taken: TakenUses | undefined,
  ): Promise<Question | undefined> {
    const question = continueUse(callQuestion(tool, pid, undefined, using), taken, 0);
    const { code, denies } = await this.authority.decide(question, this.clock.peek());
    const isHopeless = noneUsable.has(code) || denies.some(({ argsHash }) => argsHash === null);
    return isHopeless ? question : undefined;
  }

  /** The question of a call with other arguments, allowed by `continues` if that still does. Throws INVALID_INPUT. */
  questionWithArgs(
    { tool, facts, questions: [{ realArgs: _realArgs, edit: _edit, ...call }] }: PreparedCall,
    rawArgs: unknown,
    continues: CapabilityId | undefined,
  ): Question {
    const args = deepFreeze(copyPlain(rawArgs, 'args', payloadLimits));
    return {
      ...call,
      ...(continues === undefined ? {} : { continues }),
      ownAsks: ownAsksOf(tool, args, facts),
      isEditable: false,
      args,
      get argsForApproval(): JsonValue {
        return shownArgs(tool, args);
      },
    };
  }

  /** Nothing for a call that is going to be refused: what a tool shows may take long. The decision itself is made later. */
  private async shownUnlessRefused(
    tool: ParsedTool,
    args: JsonValue,
    questions: readonly Question[],
    isRepeated: boolean,
  ): Promise<Pick<PreparedCall, 'shown'>> {
    if (tool.shown !== undefined && !isRepeated && (await this.isRefused(questions))) return {};
    return { shown: shownArgs(tool, args) };
  }

  private async isRefused(questions: readonly Question[]): Promise<boolean> {
    for (const question of questions) {
      const { code } = await this.authority.decide(question, this.clock.peek());
      if (code !== 'ASK' && !allows(code)) return true;
    }
    return false;
  }

  private async parseArgs(tool: ParsedTool, pid: Pid, rawArgs: unknown, ends: CallEnds): Promise<JsonValue> {
    const copied = copyPlain(rawArgs, 'args', payloadLimits);
    const { name } = tool;
    const owner = { path: 'args', hint: `See the input schema of tool ${name}.`, facts: { tool: name } };
    const validated = await validateWithin(tool.input, copied, owner, ends).catch((error) => {
      throw error instanceof KernelError ? error : callCancelled(name, pid);
    });
    return copyPlain(validated, 'args', payloadLimits);
  }

  private resourcesOf(tool: ParsedTool, args: JsonValue, place: ToolPlace): readonly ToolResource[] {
    const resources = callToolFunction(tool.name, () => tool.resources?.(args as never, place)) ?? [];
    return parseSpec(resourceList, resources, 'resources') as readonly ToolResource[];
  }

  private async questionsOf(pid: Pid, resources: readonly ToolResource[]): Promise<Question[]> {
    const questions: Question[] = [];
    for (const { right, resource, args = {}, refusedAs } of resources) {
      const question = await this.questions.parse(pid, right, resource, args);
      questions.push(refusedAs === undefined ? question : { ...question, refusedAs });
    }
    return questions;
  }

  /**
   * The arguments with the files that their paths lead to; undefined where no link leads elsewhere. Where a path is also a
   * resource, its links are not followed a second time: what is decided on must be what is opened.
   */
  private async realArgsOf(
    { paths = [] }: ParsedTool,
    args: JsonValue,
    questions: readonly Question[],
  ): Promise<JsonValue | undefined> {
    let realArgs: JsonObject | undefined;
    for (const [name, value] of pathArguments(paths, args)) {
      const request = parseRequest(`fs:${value}`);
      const known = questions.find(({ request: { text } }) => text === request.text);
      const real = known === undefined ? await this.filePlaces.real(request.segments) : known.real?.segments;
      const realPath = real === undefined ? outside : real.join('/') || '.';
      if (realPath !== value) realArgs = { ...(realArgs ?? (args as JsonObject)), [name]: realPath };
    }
    return realArgs;
  }

  private filePathOf(text: string, real: Question['request']): [string, string][] {
    return real.kind === 'fs' ? [[text, path.join(this.filePlaces.workspace, ...real.segments)]] : [];
  }
}

/** The question, allowed by the capability that has lost a use for it already, if that still allows it. */
function continueUse(question: Question, taken: TakenUses | undefined, index: number): Question {
  const continues = taken?.capabilities[index] ?? undefined;
  return continues === undefined ? question : { ...question, continues };
}

/** Codes of decisions for want of a capability that is live, whatever the arguments. */
const noneUsable: ReadonlySet<DecisionCode> = new Set(['NO_CAPABILITY', 'REVOKED', 'SPENT', 'EXPIRED']);

/** Without arguments: whether the process could call the tool with any. */
function callQuestion(
  { name }: ParsedTool,
  pid: Pid,
  args: JsonValue | undefined,
  using: CapabilityId | undefined,
): Question {
  const request = parseRequest(`tool:${name}`);
  const question: Question = { pid, right: 'call', request, names: [request] };
  return { ...question, ...(args === undefined ? {} : { args }), ...(using === undefined ? {} : { using }) };
}

/** The rule by which a tool itself asks a person, in the form of a rule of the host. Throws TOOL_FAILED. */
function ownAsksOf(
  { name, needsApproval, expiresInMs }: ParsedTool,
  args: JsonValue,
  facts: ApprovalFacts,
): readonly RuleRecord[] {
  if (needsApproval === undefined) return [];
  const asks: unknown = needsApproval === true || callToolFunction(name, () => needsApproval(args as never, facts));
  if (typeof asks !== 'boolean') throw toolFailed(name, new TypeError('needsApproval answered with no boolean'));
  const resource = `tool:${name}`;
  const rights = maskOfRights(['call']);
  const rule = { id: resource, effect: 'ask', pid: '*', n: 0, resource, rights, argsHash: null, reason: null } as const;
  return asks ? [{ ...rule, expiresAt: null, expiresInMs: expiresInMs ?? null, createdAt: 0 }] : [];
}

/** Stands for every path that is not in the workspace. No path pattern includes it. */
const outside = '..';

function pathArguments(paths: readonly string[], args: JsonValue): [name: string, path: string][] {
  if (!isObject(args)) return [];
  return paths.flatMap((name) => {
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    return typeof value === 'string' ? [[name, value]] : [];
  });
}

/** The arguments with paths relative to the workspace, in canonical form. Throws INVALID_PATH. */
function withWorkspacePaths({ paths = [] }: ParsedTool, args: JsonValue, place: ToolPlace): JsonValue {
  const found = pathArguments(paths, args);
  if (found.length === 0) return args;
  const resolved = found.map(([name, value]) => [name, workspacePath(place, value)]);
  return { ...(args as JsonObject), ...Object.fromEntries(resolved) };
}

/** The arguments as they may be recorded: null when the tool's `shown` throws. */
function shownArgs({ shown }: ParsedTool, args: JsonValue): JsonValue {
  if (shown === undefined) return args;
  try {
    return copyPlain(shown(args as never), 'shown', payloadLimits);
  } catch {
    // Only the record depends on it, not the call.
    return null;
  }
}

/** Calls a function of the tool's author. Throws its InputErrors as they are, everything else as TOOL_FAILED. */
function callToolFunction<T>(tool: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw error instanceof InputError ? error : toolFailed(tool, error);
  }
}

function deepFreeze<T extends JsonValue>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) deepFreeze(member as JsonValue);
    Object.freeze(value);
  }
  return value;
}
