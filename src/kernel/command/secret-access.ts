import type { Pid } from '../../base/ids.js';
import { plainQuestion, type Question } from '../../capability/decision/question.js';
import { everyRequest, parseRequest, type Request } from '../../capability/resource/resource.js';
import type { Environment } from './command.js';

/** The names of the secrets that an environment refers to, each once. */
export function secretNamesOf(env: Environment): string[] {
  const names = Object.values(env).flatMap((value) => (typeof value === 'string' ? [] : [value.secret]));
  return [...new Set(names)].sort();
}

/** The authority that a process needs for an environment: `read` on every secret that it refers to. */
export function secretQuestions(pid: Pid, env: Environment): Question[] {
  return secretNamesOf(env).map((name) => plainQuestion(pid, 'read', parseRequest(`secret:${name}`)));
}

/**
 * The authority that a process needs for all variables of the kernel: `read` on `secret:**`. A rule on one of them counts
 * too.
 */
export function kernelVariablesQuestion(pid: Pid, variables: readonly string[]): Question {
  const every = everyRequest('secret');
  return { ...plainQuestion(pid, 'read', every[0]), names: [...every, ...variables.flatMap(requestOf)] };
}

function requestOf(variable: string): Request[] {
  try {
    return [parseRequest(`secret:${variable}`)];
  } catch {
    // A name that no rule can spell.
    return [];
  }
}
