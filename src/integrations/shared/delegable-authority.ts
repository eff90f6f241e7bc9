import type { DelegationSpec, Resources } from '../../index.js';
import type { CallingFace } from './calling-face.js';

/** Everything that the process holds and may hand on, for a child that may do the same. */
export async function delegableAuthority(face: CallingFace): Promise<DelegationSpec<Resources>[]> {
  const held = await face.capabilities.list();
  return held
    .filter(({ status, delegable, depth, maxDepth }) => status === 'live' && delegable && depth < maxDepth)
    .map(({ id, resource, rights, grantable = rights.filter((right) => right !== 'grant') }) => ({
      from: id,
      resource,
      rights: grantable,
      delegable: true,
    }));
}
