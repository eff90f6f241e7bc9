import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { type Token, token } from '../../base/token.js';
import type { Question } from '../../capability/decision/question.js';
import type { ImageFacts } from '../process/images.js';

/** A command that a new process is to run: what the unit of its birth has to ask, and what it stores. */
export interface CommandPlan {
  readonly resource: string;
  /** Redacted and bounded. */
  readonly line: string;
  /** What whoever runs it has to be allowed; absent for the host, which may run everything. */
  readonly question?: Question;
  readonly timeoutMs?: number;
  readonly background: boolean;
  readonly survive: boolean;
}

/** Looks at what a process of a command image would run. */
export interface CommandPlans {
  /** `asker` is the process that has to be allowed to; null for the host. Throws INVALID_INPUT. */
  ofImage(image: ImageFacts, args: JsonValue, asker: Pid | null): Promise<CommandPlan>;
}
export const CommandPlans: Token<CommandPlans> = token('CommandPlans');
