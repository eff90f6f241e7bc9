import path from 'node:path';
import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { InputError } from '../../base/errors.js';
import type { CapabilityId, Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { copyPlain, payloadLimits } from '../../base/plain.js';
import { parseSpec } from '../../base/spec.js';
import { plainQuestion, type Question } from '../../capability/decision/question.js';
import { Questions } from '../../capability/decision/questions.js';
import { parseRequest } from '../../capability/resource/resource.js';
import { FilePlaces } from '../../capability/resource/workspace-files.js';
import type { Effect } from '../../kernel/face/process-tools.js';
import type { ProcessRow } from '../../kernel/process/process.js';
import { validated } from '../../runtime/image/validated.js';
import type { ToolPlace, ToolResource } from '../tool.js';
import type { ParsedTool } from '../tool-definition.js';
import { toolFailed } from '../tool-errors.js';

/** A call whose arguments have been looked at: what is checked is, value for value, what is run. */
export interface PreparedCall {
  readonly tool: ParsedTool;
  readonly place: ToolPlace;
  readonly args: JsonValue;
  /** What of the arguments may be kept. */
  readonly shown: JsonValue;
  readonly effect: Effect;
  /** What it needs: `call` on the tool first. */
  readonly questions: readonly [Question, ...Question[]];
  /** What the tool said that it needs. */
  readonly resources: readonly ToolResource[];
  /** The real paths of the files among them, by the text of the resource. */
  readonly files: ReadonlyMap<string, string>;
}

const resourceList = z
  .array(z.strictObject({ right: z.string(), resource: z.string(), args: z.custom<JsonValue>().optional() }))
  .max(256);

/** What stands before the unit of a call: schemas, functions of the tool, the disk. */
@injectable()
export class CallPreparer {
  constructor(
    @inject(Questions) private readonly questions: Questions,
    @inject(FilePlaces) private readonly places: FilePlaces,
  ) {}

  /** Throws INVALID_INPUT, INVALID_PATH, and TOOL_FAILED for a tool that cannot tell what it needs. */
  async shape(
    tool: ParsedTool,
    row: ProcessRow,
    given: unknown,
    using: CapabilityId | undefined,
  ): Promise<PreparedCall> {
    const { pid, cwd } = row;
    const { name } = tool;
    const args = frozen(await this.args(tool, given));
    const place = { pid, cwd, workspace: this.places.workspace };
    const shown = shownArgs(tool, args);
    const call = { ...plainQuestion(pid, 'call', parseRequest(`tool:${name}`), args), shown };
    const resources = this.asked(tool, args, place);
    const needed = await this.needed(pid, resources);
    return {
      tool,
      place,
      args,
      shown,
      effect: told(name, () => tool.effectOf?.(args as never)) ?? tool.effect,
      questions: [using === undefined ? call : { ...call, using }, ...needed],
      resources,
      files: new Map(needed.flatMap(({ request, real = request }) => this.file(request.text, real))),
    };
  }

  private async args(tool: ParsedTool, given: unknown): Promise<JsonValue> {
    const copied = copyPlain(given, 'args', payloadLimits);
    const { name } = tool;
    const owner = { path: 'args', hint: `See the input schema of tool ${name}.`, facts: { tool: name } };
    return copyPlain(await validated(tool.input, copied, owner), 'args', payloadLimits);
  }

  private asked(tool: ParsedTool, args: JsonValue, place: ToolPlace): readonly ToolResource[] {
    const asked = told(tool.name, () => tool.resources?.(args as never, place)) ?? [];
    return parseSpec(resourceList, asked, 'resources') as readonly ToolResource[];
  }

  private async needed(pid: Pid, asked: readonly ToolResource[]): Promise<Question[]> {
    const needed: Question[] = [];
    for (const { right, resource, args = {} } of asked) {
      needed.push(await this.questions.of(pid, right, resource, args));
    }
    return needed;
  }

  private file(text: string, real: Question['request']): [string, string][] {
    return real.kind === 'fs' ? [[text, path.join(this.places.workspace, ...real.segments)]] : [];
  }
}

/** What a function of the tool says. Only refusals of the input pass as they are. */
function told<T>(tool: string, ask: () => T): T {
  try {
    return ask();
  } catch (error) {
    throw error instanceof InputError ? error : toolFailed(tool, error);
  }
}

/** What of the arguments may be kept: nothing, where the tool cannot tell. */
function shownArgs({ shown }: ParsedTool, args: JsonValue): JsonValue {
  try {
    return shown === undefined ? args : copyPlain(shown(args as never), 'shown', payloadLimits);
  } catch {
    // The call itself does not depend on it.
    return null;
  }
}

function frozen<T extends JsonValue>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) frozen(member as JsonValue);
    Object.freeze(value);
  }
  return value;
}
