import type { Pid } from '../../base/ids.js';
import type { Question } from '../../capability/decision/question.js';
import { parseRequest } from '../../capability/resource/resource.js';
import type { Right } from '../../capability/resource/rights.js';
import type { ObjectRecord } from './object.js';

/** Either name of an object is enough for an allow, and a deny on either is a deny. */
export function objectQuestion(pid: Pid, right: Right, { id, namespace }: ObjectRecord): Question {
  const request = parseRequest(`object:${id}`);
  return { pid, right, request, names: [request, parseRequest(`ns:${namespace}/${id}`)], isEither: true, args: {} };
}
