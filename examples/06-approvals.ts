/* A person is asked before a mail goes out. The call of the process waits for the answer. */
import { type ApprovalDecision, createKernel, isKernelError } from 'procura';
import { z } from 'zod';

const kernel = await createKernel();
const { processes, capabilities, approvals, events } = kernel;

const clerk = await processes.spawn({ capabilities: [{ resource: 'tool:mail', rights: ['call'] }] });
await capabilities.ask(clerk, { resource: 'tool:mail', rights: ['call'] });

// Here the person is a table. In an application it is a page, a chat, or `procura answer` in a terminal.
const answers: Record<string, ApprovalDecision> = { ann: 'once', bob: 'deny', eve: 'deny-always' };
const mailArgs = z.object({ to: z.string() });
events.on('approval.requested', async ({ data }) => {
  const { id, right, resource, args } = await approvals.get(data.approval);
  const decision = answers[mailArgs.parse(args).to] ?? 'deny';
  console.log(`May it ${right} ${resource} with ${JSON.stringify(args)}? ${decision}`);
  await approvals.answer(id, { decision, by: 'carol' });
});

// kernel.as(pid) acts as the process. Its call waits until somebody has answered.
const face = kernel.as(clerk);
for (const to of Object.keys(answers)) {
  try {
    const { effect } = await face.capabilities.require('call', 'tool:mail', { to });
    console.log(`${to}: ${effect}`);
  } catch (error) {
    if (!isKernelError(error, 'APPROVAL_DENIED')) throw error;
    console.log(`${to}: ${error.code}`);
  }
}

console.log(`Next time, eve: ${(await capabilities.check(clerk, 'call', 'tool:mail', { to: 'eve' })).code}`);
await kernel.shutdown();
