import type { Approval, Capability, Kernel, Rule, RuleId } from '../index.js';
import { safeText } from './safe-text.js';
import { formatTime } from './times.js';

/** One link of a chain of capabilities. */
export function chainLine({ id, holder, resource, rights, status, grantedBy }: Capability): string {
  const subject = `${rights.join(',')} on ${safeText(resource, 80)}`;
  const statusNote = status === 'live' ? '' : `, ${status}`;
  return `by ${safeText(id, 60)} ${subject}, held by ${safeText(holder, 60)}, from ${safeText(grantedBy, 60)}${statusNote}`;
}

/** A rule in words: its effect, rights, resource, and the processes that it binds. */
export function ruleText({ effect, pid, resource, rights, argsHash, reason, expiresAt }: Rule): string {
  const whom = pid === '*' ? 'every process' : `${safeText(pid, 100)} and everything spawned under it`;
  const args = argsHash === undefined ? '' : ` with arguments of SHA-256 ${argsHash.slice(0, 8)}…`;
  const until = expiresAt === undefined ? '' : `, until ${formatTime(expiresAt)}`;
  const why = reason === undefined ? '' : `, "${safeText(reason, 100)}"`;
  return `${effect} ${rights.join(',')} on ${safeText(resource, 80)}${args} for ${whom}${until}${why}`;
}

/** The rules of these ids in words. For a rule that has been lifted since, only the id is known. */
export async function describeRules({ capabilities }: Kernel, ids: readonly RuleId[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const all = new Map((await capabilities.rules(undefined, { all: true })).map((rule) => [rule.id, rule]));
  return ids.map((id) => {
    const rule = all.get(id);
    return `${safeText(id, 60)} ${rule === undefined ? '(lifted)' : ruleText(rule)}`;
  });
}

/** The right that an approval is about; for a request, the rights that the process would hold. */
export function approvalRights({ right, request }: Approval): string {
  return request === undefined ? right : `hold ${request.rights.join(',')}`;
}

/** The right and the resource that an approval is about. */
export function approvalText(approval: Approval, resourceMax?: number): string {
  const { resource, request } = approval;
  return `${approvalRights(approval)} ${request === undefined ? '' : 'on '}${safeText(resource, resourceMax)}`;
}

/** The arguments of the call, or for a request its other terms. */
export function approvalTerms({ args, request }: Approval): unknown {
  if (request === undefined) return args;
  const { resource: _resource, rights: _rights, ...terms } = request;
  return terms;
}
