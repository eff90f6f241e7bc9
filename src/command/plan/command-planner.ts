import path from 'node:path';
import { inject, injectable } from 'inversify';
import type { z } from 'zod';
import { InputError, invalidInput, ToolError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { plainQuestion, type Question } from '../../capability/decision/question.js';
import { parseRequest } from '../../capability/resource/resource.js';
import type { CommandPlan, CommandPlans } from '../../kernel/command/command-ports.js';
import type { ImageFacts } from '../../kernel/process/images.js';
import { commandSpec, parse } from '../../kernel/specs.js';
import { segmentsWithin, Workspace } from '../../kernel/workspace/working-directory.js';
import { findProgram, realPath } from './programs.js';
import { commandLine, redactArguments } from './redaction.js';

/** A command spec that was validated. */
export type ParsedCommand = z.output<typeof commandSpec>;

/** A command with the file that it runs, the question that decides on it, and its arguments as they may be stored. */
export interface PlannedCommand extends CommandPlan {
  /** The file to execute; absent if there is no such program. */
  readonly file?: string;
  /** The arguments that the decision is made on. */
  readonly args: JsonObject;
  /** The arguments as they are stored: without secrets. */
  readonly shown: JsonObject;
}

/** Validates commands and finds their programs, before they are authorized and run. */
@injectable()
export class CommandPlanner implements CommandPlans {
  constructor(@inject(Workspace) private readonly workspace: string) {}

  async planImage(image: ImageFacts, args: JsonValue, asker: Pid | null): Promise<PlannedCommand> {
    return this.plan(this.specOf(image, args), this.workspace, asker);
  }

  /** The command that a process of the image runs with these arguments. Throws INVALID_INPUT. */
  specOf(image: ImageFacts, args: JsonValue): ParsedCommand {
    if (image.command === undefined) throw notSpawnable(image.reference);
    return this.parse(image.command(args), 'image');
  }

  /** Throws INVALID_INPUT, UNSUPPORTED. */
  parse(rawSpec: unknown, name: string): ParsedCommand {
    if (process.platform === 'win32') throw unsupported();
    return parse(commandSpec, rawSpec, name);
  }

  /** A program with a slash is relative to `folder`. Throws INVALID_INPUT for a program that no resource can name. */
  plan(spec: ParsedCommand, folder: string, asker: Pid | null): PlannedCommand {
    const { argv, cwd, env, envMode, stdin, timeoutMs, background, survive } = spec;
    const { resource, file } = findProgram(argv[0] ?? '', folder, process.env.PATH ?? '');
    const args = definedMembers({ argv, cwd, env, envMode, stdin });
    const redactedArgv = redactArguments(argv);
    const shown = definedMembers({
      argv: redactedArgv,
      cwd,
      env: env === undefined ? undefined : Object.keys(env),
      envMode,
      stdin: stdin === undefined ? undefined : `[${Buffer.byteLength(stdin)} bytes]`,
    });
    const request = parseRequest(resource);
    const question: Question | undefined =
      asker === null ? undefined : { ...plainQuestion(asker, 'call', request, args), argsForApproval: shown };
    return {
      resource: request.text,
      line: commandLine(redactedArgv),
      ...(question === undefined ? {} : { question }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      background,
      survive,
      ...(file === undefined ? {} : { file }),
      args,
      shown,
    };
  }

  /** The real path of a working directory. Throws INVALID_PATH where it is gone, or a link leads out of the workspace. */
  realFolder(cwd: string): string {
    const real = realPath(path.join(this.workspace, cwd));
    if (real !== undefined && segmentsWithin(this.workspace, real) !== undefined) return real;
    throw new InputError('INVALID_PATH', `There is no folder ${JSON.stringify(cwd.slice(0, 200))} in the workspace.`, {
      facts: { path: cwd.slice(0, 200) },
      hint: 'Give a folder inside the workspace, or make it first.',
    });
  }
}

function definedMembers(members: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JsonObject;
}

function notSpawnable(image: string): InputError {
  return invalidInput('spec.image', `${image} is what run makes of commands`, 'Use run, or an image of commandImage.', {
    image,
  });
}

function unsupported(): ToolError {
  return new ToolError('UNSUPPORTED', 'Commands cannot be run on Windows yet.', {
    facts: { platform: process.platform },
    hint: 'Run the kernel on Linux or macOS, or under WSL.',
  });
}
