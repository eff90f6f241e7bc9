/* A person is asked before a mail goes out; the agent's call waits for the answer. */
import { createKernel } from 'procura';

const kernel = await createKernel();
const { processes, capabilities, approvals, events } = kernel;

const boss = await processes.spawn({ capabilities: [{ resource: 'tool:mail', rights: ['call'], delegable: true }] });
const clerk = await processes.spawnChild(boss, { delegate: [{ resource: 'tool:mail', rights: ['call'] }] });
await capabilities.ask(boss, { resource: 'tool:mail', rights: ['call'] }); // binds everything born under the boss

// Here the person is a table; elsewhere it is a page, a chat, or `procura answer` in a terminal.
const answers = { ann: 'once', bob: 'deny', eve: 'deny-always' };
events.on('approval.requested', async ({ data }) => {
  const { id, right, resource, args } = await approvals.get(data.approval);
  console.log(`May it ${right} ${resource} to write to ${args.to}? ${answers[args.to]}`);
  await approvals.answer(id, { decision: answers[args.to], by: 'carol' });
});

// The face of a process is what an agent gets: its call is parked until somebody has answered.
const { require } = kernel.as(clerk).capabilities;
for (const to of Object.keys(answers)) {
  const sent = require('call', 'tool:mail', { to });
  await sent.then(
    ({ effect }) => console.log(`${to}: ${effect}`),
    ({ code }) => console.log(`${to}: ${code}`),
  );
}

const { code } = await capabilities.check(clerk, 'call', 'tool:mail', { to: 'eve' });
console.log(`Next time, eve: ${code}`);
const { items } = await kernel.audit.list({ action: 'approval.answer' });
console.log(`On record: ${items.map(({ facts, payload }) => `${facts.decision} by ${payload.by}`).join(', ')}.`);
await kernel.shutdown();
