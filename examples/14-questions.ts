/* A process asks a person, and a person changes what it is about to do before it does it. */
import { createKernel, defineImage, defineTool } from 'procura';
import { z } from 'zod';

const kernel = await createKernel();
const { processes, questions, approvals, events } = kernel;
// Mail to everybody waits for a person, for an hour at most. Then it is denied.
const mail = defineTool({
  name: 'mail',
  description: 'Sends a mail.',
  effect: 'once',
  input: z.object({ list: z.string(), text: z.string() }),
  needsApproval: ({ list }) => list === 'everybody',
  expiresInMs: 3_600_000,
  run: ({ list, text }) => `to ${list}: ${text}`,
});
kernel.tools.register(mail);

const announcer = defineImage({
  name: 'announcer',
  run: async (ctx) => {
    const { list } = await ctx.ask('Who is to know?', { schema: z.object({ list: z.enum(['staff', 'everybody']) }) });
    return ctx.tools.call(mail, { list, text: 'We close at FIVE!!!' });
  },
});
const pid = await processes.spawn({ image: announcer, capabilities: [{ resource: 'tool:mail', rights: ['call'] }] });
// The people are lines of this program. In a terminal: `procura questions` and `procura answer ID VALUE`.
for await (const { id, question } of questions.stream()) {
  const refused = await questions.answer(id, { answer: { list: 'friends' }, by: 'ann' }).catch(({ code }) => code);
  console.log(`${question} friends: ${refused}`);
  await questions.answer(id, { answer: { list: 'everybody' }, by: 'ann' });
  break;
}

// In a terminal: `procura answer ID once --args '{"list":"everybody","text":"We close at five."}'`.
for await (const { data } of events.stream({ types: ['approval.requested'] })) {
  console.log(JSON.stringify((await approvals.get(data.approval)).args));
  const args = { list: 'everybody', text: 'We close at five.' };
  await approvals.answer(data.approval, { decision: 'once', by: 'bea', args });
  break;
}

console.log(await processes.value(pid));
await kernel.shutdown();
