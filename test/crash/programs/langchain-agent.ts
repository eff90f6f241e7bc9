import { appendFileSync } from 'node:fs';
import { AIMessage, type BaseMessage, createAgent, fakeModel, tool } from 'langchain';
import { z } from 'zod';
import { createKernel, defineImage, Store } from '../../../src/index.js';
import { governTools, invokeAgent, procuraMiddleware } from '../../../src/integrations/langchain/index.js';
import { killAtWrite } from './fault-point.js';
import { nextLine, print, stopListening } from './stdio.js';

/**
 * An agent of LangChain that notes a line in each of three turns, the third of them with two calls. Each turn of its model and
 * each line is appended to a file. With `hold` its third turn never ends.
 */
const [store = '', log = '', killAt = '', when = ''] = process.argv.slice(2);
const turns = [['first'], ['second'], ['third', 'fourth'], []];

const note = tool(
  ({ line }: { line: string }) => {
    appendFileSync(log, `did ${line}\n`);
    return `wrote ${line}`;
  },
  { name: 'note', description: 'Writes a line.', schema: z.object({ line: z.string() }) },
);

const model = fakeModel();
for (const _ of turns) model.respond(answerTo);
if (when === 'hold') {
  // Bound tools make another model of it, which would not be held.
  model.bindTools = () => model.withConfig({}) as never;
  const generate = model._generate.bind(model);
  model._generate = (messages, options, manager) => {
    if (turnOf(messages) < 2) return generate(messages, options, manager);
    print('held');
    return new Promise(() => undefined);
  };
}

function turnOf(messages: BaseMessage[]): number {
  return messages.filter((message) => AIMessage.isInstance(message)).length;
}

function answerTo(messages: BaseMessage[]): BaseMessage {
  const turn = turnOf(messages);
  appendFileSync(log, `asked ${turn}\n`);
  const lines = turns[turn] ?? [];
  // The types of the constructor do not know of usage.
  const usage: object = { usage_metadata: { input_tokens: 10, output_tokens: 5, total_tokens: 15 } };
  return new AIMessage({
    content: lines.length === 0 ? 'noted' : '',
    tool_calls: lines.map((line) => ({ name: 'note', args: { line }, id: `call-${line}` })),
    ...usage,
  });
}

const image = defineImage({
  name: 'clerk',
  recoveriesMax: 1_000,
  run: async (ctx) => {
    const agent = createAgent({ model, tools: [note], middleware: [procuraMiddleware(ctx, { prefix: 'clerk' })] });
    const { messages } = await invokeAgent(ctx, agent, { messages: [{ role: 'user', content: 'Take notes.' }] });
    return (messages as BaseMessage[]).map((message) => message.text);
  },
});

print('ready');
await nextLine();
const kernel = await createKernel({ logger: 'silent', store, images: [image], node: { leaseMs: 1_000, start: false } });
governTools(kernel, [note], { prefix: 'clerk' });
await kernel.start();
if (Number(killAt) > 0) killAtWrite(kernel.container.get(Store), Number(killAt), when);
print('open');
const pid = await kernel.processes.spawn({
  id: 'clerk',
  image: 'clerk',
  capabilities: [
    { resource: 'model:langchain/**', rights: ['call'] },
    { resource: 'tool:clerk.note', rights: ['call'] },
  ],
});
const { value, outcome } = await kernel.processes.result(pid);
print(`result ${JSON.stringify(value ?? outcome)}`);
await kernel.shutdown();
stopListening();
