import type { CapabilityId, Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { Request } from '../resource/resource.js';
import type { Right } from '../resource/rights.js';

/** May `pid` do this? */
export interface Question {
  readonly pid: Pid;
  readonly right: Right;
  /** What was asked for, as it is shown. */
  readonly request: Request;
  /**
   * The names that it is compared by: an allow must match all of them, a rule matches if it matches one. A file has two
   * where links lead elsewhere.
   */
  readonly names: readonly Request[];
  /** Where the links of a file lead. */
  readonly real?: Request;
  /** One of the names is enough for an allow: an object goes by its id and by its place in a namespace. */
  readonly isEither?: true;
  /** Links lead out of the workspace, where nothing allows anything. */
  readonly isOutside?: true;
  /** Absent: whether there are arguments with which it may. */
  readonly args?: JsonValue;
  /** Only by this capability. */
  readonly using?: CapabilityId;
  /** What a question for a person keeps of the arguments, where they hold secrets; it is bound to the arguments themselves. */
  readonly shown?: JsonValue;
}

/** About a resource that goes by one name. */
export function plainQuestion(pid: Pid, right: Right, request: Request, args: JsonValue = {}): Question {
  return { pid, right, request, names: [request], args };
}
