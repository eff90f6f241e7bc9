/* Tools behind one gate: what was granted works, the rest is refused, and all of it is on record. */
import { createKernel, defineImage, defineTool, KernelError } from 'procura';

const mail = defineTool({
  name: 'mail',
  description: 'Sends a mail.',
  effect: 'once',
  input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'], additionalProperties: false },
  run: ({ to }) => ({ sent: to }),
});

const clerk = defineImage({
  name: 'clerk',
  run: async (ctx) => {
    const tried = [];
    for (const to of ['ann@example.com', 'eve@example.org', 7, 'ann@example.com', 'ann@example.com']) {
      const answer = await ctx.tools.call('mail', { to }).then(JSON.stringify, told);
      tried.push(`${to}: ${answer}`);
    }
    return [...tried, `delete everything: ${await ctx.tools.call('fs.delete', { path: 'notes' }).catch(told)}`];
  },
});

const told = (error) => {
  if (error instanceof KernelError) return `${error.code} ${error.facts.code ?? error.facts.dimension ?? ''}`.trim();
  throw error;
};

const kernel = await createKernel({ images: [clerk], tools: [mail] });
const toAnn = { resource: 'tool:mail', rights: ['call'], constraints: { to: { eq: 'ann@example.com' } } };
const pid = await kernel.processes.spawn({ image: 'clerk', capabilities: [toAnn], budget: { toolCalls: 2 } });
for (const line of (await kernel.processes.result(pid)).value) console.log(line);

const { items } = await kernel.audit.list({ action: 'tool.call', actor: pid });
console.log(`On record: ${items.map(({ outcome }) => outcome).join(', ')}.`);
await kernel.shutdown();
