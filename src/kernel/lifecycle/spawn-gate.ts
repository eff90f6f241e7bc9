import { inject, injectable } from 'inversify';
import { errorText, ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { type Token, token } from '../../base/token.js';
import type { Call } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import type { OwnerKeys, ProcessKind } from '../process/process.js';
import type { NewProcess } from './spawning.js';

/** A process that is about to be created, as the host's `beforeSpawn` sees it. */
export interface SpawnFacts {
  /** Null: it is a root. */
  readonly parent: Pid | null;
  /** The host, or the process that spawns it through its own face. */
  readonly by: 'host' | Pid;
  /** `name@version`. */
  readonly image: string;
  readonly kind: ProcessKind;
  readonly name?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** What the process belongs to in the application. */
  readonly owner: OwnerKeys;
  /** The output of the image's input schema; of a command that is run, its argv and what else rules can ask about. */
  readonly args: JsonValue;
}

/** The host's own decision on new processes. */
export interface SpawnPolicy {
  readonly beforeSpawn?: (facts: SpawnFacts) => void | Promise<void>;
}
export const SpawnPolicy: Token<SpawnPolicy> = token('SpawnPolicy');

/** The members of a new process that the policy is asked about. */
type ProposedProcess = Pick<NewProcess, 'image' | 'name' | 'labels' | 'owner' | 'args'>;

const reasonCharsMax = 1_000;

/** Asks the policy of the host about every process that this program creates. The policy is code of users: no unit calls it. */
@injectable()
export class SpawnGate {
  /** Whether there is a policy to ask. */
  readonly isGuarded: boolean;

  constructor(
    @inject(SpawnPolicy) private readonly policy: SpawnPolicy,
    @inject(Units) private readonly units: Units,
  ) {
    this.isGuarded = policy.beforeSpawn !== undefined;
  }

  /** To be called before the unit that creates the process. The policy gets copies. Throws SPAWN_REFUSED, which is recorded. */
  async check(call: Call, parent: Pid | null, proposed: ProposedProcess): Promise<void> {
    const { beforeSpawn } = this.policy;
    if (beforeSpawn === undefined) return;
    const { caller } = call;
    const { image, name, labels, owner, args } = proposed;
    const facts: SpawnFacts = {
      parent,
      by: caller.face === 'host' ? 'host' : caller.pid,
      image: image.reference,
      kind: image.kind,
      ...(name === null ? {} : { name }),
      labels: { ...labels },
      owner: { ...owner },
      args: structuredClone(args),
    };
    try {
      await beforeSpawn(facts);
    } catch (error) {
      await this.units.refuse(call, spawnRefused(image.reference, parent, error));
    }
  }
}

function spawnRefused(image: string, parent: Pid | null, error: unknown): ProcessError {
  const text = error instanceof Error ? error.message : errorText(error);
  const reason = text.slice(0, reasonCharsMax).toWellFormed();
  return new ProcessError('SPAWN_REFUSED', `A process of image ${image} was refused: ${reason}`, {
    facts: { reason, image, parent },
    hint: 'The program that opened the kernel decides this, in createKernel({ beforeSpawn }).',
    cause: error,
  });
}
