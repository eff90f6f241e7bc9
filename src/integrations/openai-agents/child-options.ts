import type { Syscalls } from '../../index.js';
import { delegableAuthority } from '../shared/delegable-authority.js';
import type { AgentSettings } from './agent-settings.js';
import type { ChildOptions } from './child-agent.js';
import type { AnyAgent } from './nested-runs.js';

/** The spec of the child that runs `agent`: what the image says of it; for authority that it does not name, all that can be handed on. */
export async function childOptions(ctx: Syscalls, settings: AgentSettings, agent: AnyAgent): Promise<ChildOptions> {
  const own = (await settings.children?.({ name: agent.name }, ctx)) ?? {};
  return { delegate: own.delegate ?? (await delegableAuthority(ctx)), ...own };
}
