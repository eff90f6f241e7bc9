import type { Facts } from './invariants.js';

/** Checks the invariants of capabilities and approvals. */
export function checkAuthority(facts: Facts): string[] {
  return [...checkDerivation(facts), ...checkRevocation(facts), ...checkApprovals(facts)];
}

/** (2) (3) Each derived capability is one level below its parent, has no more rights and expires no later. */
function checkDerivation({ capabilities }: Facts): string[] {
  const rows = new Map(capabilities.map((row) => [row.id, row]));
  return capabilities.flatMap(({ id, parent: above, depth, max_depth, rights, grantable, expires_at }) => {
    if (depth > max_depth) return [`(2) ${id} is at depth ${depth} of ${max_depth}`];
    if (above === null) return [];
    const parent = rows.get(above);
    if (parent === undefined) return [`(3) ${id} comes from nothing`];
    const late = parent.expires_at !== null && (expires_at === null || expires_at > parent.expires_at);
    const beyond = (rights & ~(parent.rights | parent.grantable)) | (grantable & ~parent.grantable);
    return [
      ...(beyond === 0 ? [] : [`(2) ${id} has more rights than ${above}`]),
      ...(depth === parent.depth + 1 ? [] : [`(3) ${id} is at depth ${depth}, not ${parent.depth + 1}`]),
      ...(late ? [`(2) ${id} expires after ${above}`] : []),
    ];
  });
}

/** (10) After a revocation nothing was allowed by the revoked capability or by one below it. */
function checkRevocation({ capabilities, records }: Facts): string[] {
  const rows = new Map(capabilities.map((row) => [row.id, row]));
  const revoked = new Set<string>();
  const wrong: string[] = [];
  for (const { seq, body } of records) {
    const { action, outcome, capability, decision } = body;
    if ((outcome !== 'ok' && outcome !== 'intent') || capability === undefined) continue;
    if (action === 'capability.revoke') revoked.add(capability);
    if (decision !== 'allow') continue;
    for (let at = rows.get(capability); at !== undefined; at = rows.get(at.parent ?? '')) {
      if (revoked.has(at.id)) wrong.push(`(10) record ${seq} was allowed by ${capability}, below revoked ${at.id}`);
    }
  }
  return wrong;
}

const answeringActions = new Set(['approval.request', 'approval.answer']);

/** (5) An approval for one time was used at most once, and one that was not approved never. */
function checkApprovals({ approvals, records }: Facts): string[] {
  const used = new Map<string, number>();
  const spawned = new Set<string>();
  for (const { body } of records) {
    const { approval, action, outcome, target } = body;
    if (approval === undefined || outcome !== 'ok' || answeringActions.has(action)) continue;
    // The command of a command process was approved with its spawn.
    if (action === 'process.spawnChild') spawned.add(`${approval} ${target}`);
    if (action === 'command.run' && spawned.has(`${approval} ${target}`)) continue;
    used.set(approval, (used.get(approval) ?? 0) + 1);
  }
  return approvals.flatMap(({ id, decision, spent_at }) => {
    const times = used.get(id) ?? 0;
    const most = decision === 'always' ? times : decision === 'once' ? 1 : 0;
    if (times > most) return [`(5) approval ${id} (${decision}) let ${times} things through`];
    return decision === 'once' && times === 1 && spent_at === null ? [`(5) approval ${id} is not used up`] : [];
  });
}
