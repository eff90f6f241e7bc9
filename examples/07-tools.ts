/* Every tool call passes one gate: schema, capability, budget and record. */
import { createKernel, defineTool, isKernelError } from 'procura';
import { z } from 'zod';

const mail = defineTool({
  name: 'mail',
  description: 'Sends a mail.',
  effect: 'once',
  input: z.object({ to: z.string() }),
  output: z.object({ sent: z.string() }),
  run: ({ to }) => ({ sent: to }),
});

const kernel = await createKernel({ tools: [mail] });
const clerk = await kernel.processes.spawn({
  capabilities: [{ resource: 'tool:mail', rights: ['call'], constraints: { to: { eq: 'ann@example.com' } } }],
  budget: { toolCalls: 2 },
});

const { tools } = kernel.as(clerk);
for (const to of ['ann@example.com', 'eve@example.org', 'ann@example.com', 'ann@example.com']) {
  console.log(await tools.call(mail, { to }).then(({ sent }) => `sent to ${sent}`, explain)); // typed by the tool
}
console.log(await tools.call('mail', { to: 7 }).then(() => 'sent', explain)); // by name, the arguments are any JSON
console.log(await tools.call('fs.delete', { path: 'notes' }).then(() => 'deleted', explain));

const { items } = await kernel.audit.list({ action: 'tool.call', actor: clerk });
console.log(`On record: ${items.map(({ outcome }) => outcome).join(', ')}.`);
await kernel.shutdown();

function explain(error: unknown): string {
  if (isKernelError(error, 'CAPABILITY_DENIED')) return `${error.code} ${error.facts.code}`;
  if (isKernelError(error, 'BUDGET_EXCEEDED')) return `${error.code} ${error.facts.dimension}`;
  if (isKernelError(error)) return error.code;
  throw error;
}
