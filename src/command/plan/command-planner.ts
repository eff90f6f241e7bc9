import path from 'node:path';
import { inject, injectable } from 'inversify';
import { Commitments } from '../../base/commitments.js';
import { InputError, invalidInput, ToolError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { AnswerUse } from '../../capability/decision/question.js';
import { parseRequest } from '../../capability/resource/resource.js';
import type { Environment } from '../../kernel/command/command.js';
import type { CommandPlans, CommandSurroundings } from '../../kernel/command/command-ports.js';
import type { ImageFacts } from '../../kernel/process/images.js';
import { commandSpec, parse } from '../../kernel/specs.js';
import { KernelFiles } from '../../kernel/workspace/kernel-files.js';
import { invalidPath, ofKernel, segmentsWithin, Workspace } from '../../kernel/workspace/working-directory.js';
import { commandEnvironment } from './environment.js';
import { type CommandPlace, type ParsedCommand, PlannedCommand } from './planned-command.js';
import { findProgram, realPath } from './programs.js';
import { SystemProgramNames } from './system-program-names.js';

/** Who runs a command, and from where. */
export interface RunContext {
  /** A program with a slash is relative to it. */
  readonly folder: string;
  /** The process that needs the authority; null for the host. */
  readonly asker: Pid | null;
  /** The variables that its process, and the parent of an image's process, were spawned with. */
  readonly inherited: Environment;
  /** Whether the caller can put the arguments of an answer in place. */
  readonly isEditable?: boolean;
  /** The answer that the command comes from. */
  readonly edit?: AnswerUse;
}

/** Validates commands and finds their programs, before they are authorized and run. */
@injectable()
export class CommandPlanner implements CommandPlans {
  constructor(
    @inject(Workspace) readonly workspace: string,
    @inject(Commitments) private readonly commitments: Commitments,
    @inject(SystemProgramNames) private readonly programNames: SystemProgramNames,
    @inject(KernelFiles) private readonly kernelFiles: KernelFiles,
  ) {}

  /** Asks the image for the command once: what is decided on is what is run. */
  planImage(
    image: ImageFacts,
    args: JsonValue,
    asker: Pid | null,
    { inherited, cwd }: CommandSurroundings,
  ): PlannedCommand {
    if (image.command === undefined) throw notSpawnable(image.reference);
    const spec = this.parse(image.command(args), 'image');
    return this.plan(spec, { folder: this.workspace, asker, inherited }, this.placeOf(spec.cwd ?? cwd));
  }

  /** Throws INVALID_INPUT, UNSUPPORTED. */
  parse(rawSpec: unknown, name: string): ParsedCommand {
    if (process.platform === 'win32') throw unsupported();
    return parse(commandSpec, rawSpec, name);
  }

  /** Throws INVALID_INPUT for a program that no resource can name. */
  plan(spec: ParsedCommand, context: RunContext, place: CommandPlace): PlannedCommand {
    const { folder, asker, inherited, isEditable = false, edit } = context;
    const [name = ''] = spec.argv;
    const { resource, file } = findProgram(name, folder, process.env.PATH ?? '');
    const findNames = () => this.programNames.find(name, folder);
    const program = { request: parseRequest(resource), findNames, ...(file === undefined ? {} : { file }) };
    const environment = commandEnvironment(spec, inherited);
    const commitmentOf = (env: Environment) => this.commitments.of(env as object as JsonValue);
    const held = { isEditable, ...(edit === undefined ? {} : { edit }) };
    return new PlannedCommand(spec, program, environment, asker, commitmentOf, place, held);
  }

  /** Constraints on `cwd` see the folder that a command runs in, whether it was named or not, and where its links lead. */
  placeOf(cwd: string): CommandPlace {
    const real = realPath(path.join(this.workspace, cwd));
    const segments = real === undefined ? undefined : segmentsWithin(this.workspace, real);
    return { cwd, realCwd: segments === undefined ? cwd : segments.join('/') || '.' };
  }

  /**
   * The real path of a working directory. Throws INVALID_PATH where it is gone, a link leads out of the workspace, or it
   * belongs to the kernel.
   */
  realFolder(cwd: string): string {
    const real = realPath(path.join(this.workspace, cwd));
    if (real !== undefined && this.kernelFiles.includesFolder(real, this.workspace)) throw invalidPath(cwd, ofKernel);
    if (real !== undefined && segmentsWithin(this.workspace, real) !== undefined) return real;
    throw new InputError('INVALID_PATH', `There is no folder ${JSON.stringify(cwd.slice(0, 200))} in the workspace.`, {
      facts: { path: cwd.slice(0, 200), problem: 'there is no such folder in the workspace' },
      hint: 'Give a folder inside the workspace, or make it first.',
    });
  }
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
