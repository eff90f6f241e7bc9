/* A process may do what it holds a capability for. Each decision names its reason, and what would change it. */
import { createKernel, isKernelError } from 'procura';

const kernel = await createKernel();
const { processes, capabilities } = kernel;

const planner = await processes.spawn({ name: 'planner' });
const grant = await capabilities.grant(planner, { resource: 'tool:search', rights: ['call'], delegable: true });
await capabilities.grant(planner, { resource: 'tool:publish', rights: ['call'] });
const researcher = await processes.spawnChild(planner, { delegate: [{ resource: 'tool:search', rights: ['call'] }] });

for (const resource of ['tool:search', 'tool:publish']) {
  const { effect, code, chain = [], hint = '' } = await capabilities.explain(researcher, 'call', resource);
  console.log(`${resource}: ${effect} (${code})`);
  if (effect === 'allow') console.log(`  by a chain of ${chain.length} capabilities, the first granted by the host`);
  else console.log(`  ${hint.replaceAll(researcher, 'RESEARCHER')}`);
}

try {
  await processes.spawnChild(planner, { delegate: [{ resource: 'tool:publish', rights: ['call'] }] });
} catch (error) {
  if (!isKernelError(error, 'AMPLIFICATION')) throw error;
  console.log(`${error.code}: the planner may use tool:publish, but not delegate it`);
}

// Revoking a capability revokes everything that was derived from it.
await capabilities.revoke(grant.id);
console.log((await capabilities.check(researcher, 'call', 'tool:search')).code);
await kernel.shutdown();
