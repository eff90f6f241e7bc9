import { z } from 'zod';
import { type Capability, type CapabilitySpec, KernelError, type ProcessFace, rights } from '../../index.js';
import { capabilityInput } from './capability-input.js';
import { idempotent, json, type McpTool, mcpTool, readOnly, waitMs } from './mcp-tool.js';

const shownMax = 500;

/** The tools for the authority of the process: what it holds, why a call is refused, and how to ask for more. */
export function capabilityTools({ capabilities }: ProcessFace): McpTool[] {
  return [
    mcpTool({
      name: 'capabilities',
      description:
        'Lists the capabilities that you hold: what you may do, with which limits, and what you may hand on.',
      input: z.strictObject({}),
      hints: readOnly,
      run: async () => {
        const held = await capabilities.list();
        return { capabilities: held.slice(0, shownMax).map(toSummary), more: held.length > shownMax };
      },
    }),
    mcpTool({
      name: 'explain',
      description:
        'Says whether you may do something, by which capability, what came near, and what would mend a no. Does nothing.',
      input: z.strictObject({
        right: z.enum(rights).describe('For a tool that is "call".'),
        resource: z.string().describe('One thing, such as "tool:fs.read" or "fs:src/main.ts"; no patterns.'),
        args: json.describe('The arguments that the call would have.').exactOptional(),
      }),
      hints: readOnly,
      run: async ({ right, resource, args }) => capabilities.explain(right, resource, args),
    }),
    mcpTool({
      name: 'request_capability',
      description:
        'Asks a person for a capability that you do not have, and waits for the answer. Call it again with the same terms when the answer is not there in time: the question is asked once.',
      input: capabilityInput.extend({ timeoutMs: waitMs }),
      hints: idempotent,
      run: async ({ timeoutMs, ...spec }, signal) =>
        requestCapability(capabilities, spec as CapabilitySpec, timeoutMs, signal),
    }),
  ];
}

type Capabilities = ProcessFace['capabilities'];

async function requestCapability(
  capabilities: Capabilities,
  spec: CapabilitySpec,
  timeoutMs: number,
  signal: AbortSignal,
) {
  const late = AbortSignal.timeout(timeoutMs);
  try {
    const granted = await capabilities.request(spec, { signal: AbortSignal.any([signal, late]) });
    return { granted: true, capability: toSummary(granted) };
  } catch (error) {
    const isPending = error instanceof KernelError && error.code === 'CANCELLED' && late.aborted && !signal.aborted;
    if (!isPending) throw error;
    const note = `Nobody has answered within ${timeoutMs} ms. The question stays: call request_capability again later, with the same terms.`;
    return { granted: false, approval: error.facts.approval, note };
  }
}

function toSummary({
  id,
  resource,
  rights: may,
  constraints,
  uses,
  expiresAt,
  delegable,
  grantable,
  grantedBy,
}: Capability) {
  return { id, resource, rights: may, constraints, uses, expiresAt, delegable, grantable, grantedBy };
}
