import type { z } from 'zod';
import type { Pid } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { hashOfArgs } from '../../capability/decision/decide.js';
import { plainQuestion, type Question } from '../../capability/decision/question.js';
import type { Request } from '../../capability/resource/resource.js';
import { commandTimeoutMsDefault, type Environment } from '../../kernel/command/command.js';
import type { CommandPlan } from '../../kernel/command/command-ports.js';
import { kernelVariablesQuestion, secretQuestions } from '../../kernel/command/secret-access.js';
import type { commandSpec } from '../../kernel/specs.js';
import { type CommandEnvironment, kernelVariables } from './environment.js';
import { commandLine, redactArguments } from './redaction.js';

/** A command spec that was validated. */
export type ParsedCommand = z.output<typeof commandSpec>;

/** The program of a command, as it was found. */
export interface FoundProgram {
  readonly request: Request;
  /** The file to execute; absent if there is no such program. */
  readonly file?: string;
  /** Every name that it goes by. */
  readonly findNames: () => readonly Request[];
}

/** Where a command runs, relative to the workspace: as it is named, and where its links lead. */
export interface CommandPlace {
  readonly cwd: string;
  readonly realCwd: string;
}

/**
 * A command with the file that it runs and the arguments that are decided on. What is hashed, shown or stored of it is made
 * when it is first asked for: of a command that is refused, nothing is.
 */
export class PlannedCommand implements CommandPlan {
  readonly resource: string;
  readonly file?: string;
  /** All variables but the token. */
  readonly variables: Environment;
  /** The arguments that the decision is made on. */
  readonly args: JsonObject;
  readonly question?: Question;
  readonly secretQuestions: readonly Question[];
  readonly timeoutMs?: number;
  readonly background: boolean;
  readonly survive: boolean;
  private hash: string | undefined;
  private shownArgs: JsonObject | undefined;

  constructor(
    readonly spec: ParsedCommand,
    { request, file, findNames }: FoundProgram,
    private readonly environment: CommandEnvironment,
    asker: Pid | null,
    private readonly commitmentOf: (env: Environment) => string,
    private readonly place: CommandPlace,
    private readonly held: Pick<Question, 'isEditable' | 'edit'>,
  ) {
    const { timeoutMs, background, survive } = spec;
    this.resource = request.text;
    if (file !== undefined) this.file = file;
    this.variables = environment.variables;
    this.args = decidedArgs(spec, environment.beyondBase, place);
    if (timeoutMs !== undefined) this.timeoutMs = timeoutMs;
    this.background = background;
    this.survive = survive;
    this.secretQuestions = asker === null ? [] : questionsOfSecrets(asker, spec, environment.variables);
    if (asker !== null) this.question = this.questionOf(asker, request, findNames);
  }

  /** Of an inherited folder it says nothing: chdir, which is authorized by itself, may change it before the start. */
  get argsHash(): string {
    const { cwd, ...others } = this.args;
    this.hash ??= hashOfArgs(this.spec.cwd === undefined || cwd === undefined ? others : { ...others, cwd });
    return this.hash;
  }

  /** The arguments as they are stored and shown: without secrets. */
  get shown(): JsonObject {
    this.shownArgs ??= this.redactArgs();
    return this.shownArgs;
  }

  get line(): string {
    return commandLine(this.shown.argv as readonly string[]);
  }

  /** The environment as it is shown: names, a commitment to the values, and the names of secrets. */
  get shownEnvironment(): JsonObject {
    const { beyondBase } = this.environment;
    if (beyondBase === undefined) return {};
    const names = Object.keys(beyondBase).sort();
    const secrets = names.flatMap((name) => {
      const value = beyondBase[name];
      return value === undefined || typeof value === 'string' ? [] : [[shownName(name), value.secret] as const];
    });
    return {
      env: shownFirst(names).map(shownName),
      envCommitment: this.commitmentOf(beyondBase),
      ...(secrets.length === 0 ? {} : { envSecrets: Object.fromEntries(secrets.slice(0, shownNamesMax)) }),
    };
  }

  private redactArgs(): JsonObject {
    const { argv: _argv, env: _env, stdin, ...others } = this.args;
    return {
      argv: redactArguments(this.spec.argv),
      ...others,
      ...this.shownEnvironment,
      ...(typeof stdin === 'string' ? { stdin: `[${Buffer.byteLength(stdin)} bytes]` } : {}),
    };
  }

  private folderArguments(): Pick<Question, 'realArgs' | 'inheritedArgs'> {
    const { cwd, realCwd } = this.place;
    return {
      ...(this.spec.cwd === undefined ? { inheritedArgs: { cwd } } : {}),
      ...(realCwd === cwd ? {} : { realArgs: { ...this.args, cwd: realCwd } }),
    };
  }

  private questionOf(asker: Pid, request: Request, findNames: () => readonly Request[]): Question {
    const shown = () => this.shown;
    return {
      ...plainQuestion(asker, 'call', request, this.args),
      ...this.folderArguments(),
      ...this.held,
      get argsForApproval(): JsonValue {
        return shown();
      },
      get namesForRules() {
        return findNames();
      },
    };
  }
}

const shownNamesMax = 64;
const shownNameCharsMax = 256;

function shownName(name: string): string {
  return name.length > shownNameCharsMax ? `${name.slice(0, shownNameCharsMax)}…` : name;
}

function shownFirst(names: readonly string[]): readonly string[] {
  return names.length > shownNamesMax ? [...names.slice(0, shownNamesMax), '…'] : names;
}

/** Members that have their default are left out, so that a capability on `argv` alone allows a plain command. */
function decidedArgs(spec: ParsedCommand, env: Environment | undefined, place: CommandPlace): JsonObject {
  const cwd = spec.cwd ?? (place.cwd === '.' ? undefined : place.cwd);
  const { argv, envMode, stdin, timeoutMs, background, survive } = spec;
  const members: Readonly<Record<string, JsonValue | undefined>> = {
    argv,
    cwd,
    env,
    envMode,
    stdin,
    timeoutMs: timeoutMs === commandTimeoutMsDefault ? undefined : timeoutMs,
    background: background || undefined,
    survive: survive || undefined,
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JsonObject;
}

function questionsOfSecrets(asker: Pid, { envMode }: ParsedCommand, variables: Environment): Question[] {
  const questions = secretQuestions(asker, variables);
  return envMode === 'patch'
    ? [kernelVariablesQuestion(asker, Object.keys(kernelVariables())), ...questions]
    : questions;
}
