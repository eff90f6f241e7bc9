import type { Approval, Capability, Kernel, Rule, RuleId } from '../index.js';
import { safeText } from './safe-text.js';
import { showTime } from './times.js';

/** One link of a chain of capabilities. */
export function chainLine({ id, holder, resource, rights, status, grantedBy }: Capability): string {
  const what = `${rights.join(',')} on ${safeText(resource, 80)}`;
  const dead = status === 'live' ? '' : `, ${status}`;
  return `by ${safeText(id, 60)} ${what}, held by ${safeText(holder, 60)}, from ${safeText(grantedBy, 60)}${dead}`;
}

/** What a rule is about and whom it binds. */
export function ruleText({ effect, pid, resource, rights, argsHash, reason, expiresAt }: Rule): string {
  const whom = pid === '*' ? 'every process' : `${safeText(pid, 100)} and everything born under it`;
  const args = argsHash === undefined ? '' : ` with arguments of SHA-256 ${argsHash.slice(0, 8)}…`;
  const until = expiresAt === undefined ? '' : `, until ${showTime(expiresAt)}`;
  const why = reason === undefined ? '' : `, "${safeText(reason, 100)}"`;
  return `${effect} ${rights.join(',')} on ${safeText(resource, 80)}${args} for ${whom}${until}${why}`;
}

/** The rules of these ids, in words. One that was lifted since is only known by its id. */
export async function rulesNamed({ capabilities }: Kernel, ids: readonly RuleId[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const all = new Map((await capabilities.rules()).map((rule) => [rule.id, rule]));
  return ids.map((id) => {
    const rule = all.get(id);
    return `${safeText(id, 60)} ${rule === undefined ? '(lifted)' : ruleText(rule)}`;
  });
}

/** The rights that an approval is about; of a request, those that the process would hold. */
export function wantedRights({ right, request }: Approval): string {
  return request === undefined ? right : `hold ${request.rights.join(',')}`;
}

/** What an approval is about: the use of something, or to hold it. */
export function wanted(approval: Approval, resourceMax?: number): string {
  const { resource, request } = approval;
  return `${wantedRights(approval)} ${request === undefined ? '' : 'on '}${safeText(resource, resourceMax)}`;
}

/** The arguments of the call, or the terms of the request. */
export function wantedTerms({ args, request }: Approval): unknown {
  if (request === undefined) return args;
  const { resource: _resource, rights: _rights, ...terms } = request;
  return terms;
}
