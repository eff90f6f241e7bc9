import type { Image } from '../image/image.js';
import type { Supervision } from './supervision.js';

export interface SupervisorSpec extends Supervision {
  readonly name: string;
  readonly version?: string;
}

/**
 * An image whose processes keep their children running. What a child may do it is handed by the supervisor, which must hold
 * it. It exits when no child is left that it would start again, and fails with SUPERVISOR_INTENSITY when they fail too
 * often.
 *
 * @example
 * const team = defineSupervisor({
 *   name: 'team',
 *   strategy: 'one_for_one',
 *   intensity: 3,
 *   periodMs: 60_000,
 *   children: [{ name: 'crawler', image: 'crawler', restart: 'permanent' }],
 * });
 */
export function defineSupervisor(spec: SupervisorSpec): Image {
  const { name, version = '1', ...supervision } = { ...spec };
  return { name, version, kind: 'agent', requires: [], recovery: 'rerun', supervision };
}
