import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { CapabilityError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { type Authorization, Authorizer } from '../../capability/decision/authorizer.js';
import { plainQuestion, type Question, QuestionParser } from '../../capability/decision/question.js';
import { parseRequest } from '../../capability/resource/resource.js';
import type { Act } from '../../unit/act.js';
import type { AuditAction } from '../../unit/actions.js';
import type { Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { normalizePath, WorkingDirectories } from './working-directory.js';

/** A working directory that a caller asks for. */
export interface Folder {
  /** In canonical form. */
  readonly cwd: string;
  /** The authority that the unit has to check; absent for the host, which may work in all of the workspace. */
  readonly folderQuestion?: Question;
}

/** Checks whether a caller may work in a folder: the host may, a process needs `read` on it. */
@injectable()
export class FolderAccess {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(QuestionParser) private readonly questions: QuestionParser,
    @inject(Authorizer) private readonly authorizer: Authorizer,
    @inject(WorkingDirectories) private readonly directories: WorkingDirectories,
  ) {}

  /**
   * Resolves `path` relative to `from`. The authority of a process is checked by the name before the disk is read, so that
   * a refusal does not tell what exists. Throws INVALID_PATH, CAPABILITY_DENIED.
   */
  async check(caller: Caller, action: AuditAction, from: string, path: string): Promise<Folder> {
    if (caller.face === 'host') return { cwd: await this.directories.resolve(from, path) };
    const { pid } = caller;
    const name = parseRequest(`fs:${normalizePath(from, path)}`);
    await this.units.read({ caller, actor: pid, action, target: pid, kind: 'act' }, async (tx) => {
      const question = plainQuestion(pid, 'read', this.questions.foldCase(name));
      await hideLocation(pid, this.authorizer.preview(tx, { via: caller.face, at: this.clock.peek() }, question));
    });
    const cwd = await this.directories.resolve(from, path);
    return { cwd, folderQuestion: await this.questions.parseFile(pid, 'read', name) };
  }

  /** To be called in the unit that uses the folder. Throws CAPABILITY_DENIED. */
  authorize(tx: WriteTx, act: Act, question: Question): Promise<Authorization> {
    return hideLocation(question.pid, this.authorizer.authorize(tx, act, question));
  }
}

/** Replaces a refusal by one that does not name the folder that a link leads to. */
async function hideLocation(pid: Pid, authorization: Promise<Authorization>): Promise<Authorization> {
  try {
    return await authorization;
  } catch (error) {
    if (!(error instanceof CapabilityError)) throw error;
    const { code = error.code } = error.facts;
    throw new CapabilityError('CAPABILITY_DENIED', `Process ${pid} may not read that folder.`, {
      facts: { pid, right: 'read', code },
      hint: 'Ask its parent to delegate read on it.',
    });
  }
}
