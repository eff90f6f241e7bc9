/* A team of LangChain agents: a lead, three researchers and an editor, each a process. fakeModel() keeps it offline; any chat model fits. */
import { AIMessage, createAgent, fakeModel, tool } from 'langchain';
import { createKernel, defineImage, type Syscalls } from 'procura';
import { governTools, invokeAgent, modelResource, procuraMiddleware } from 'procura/langchain';
import { z } from 'zod';

const topics = ['tides', 'winds', 'stars'];
const input = z.object({ topic: z.string() });
const search = tool(({ topic }) => `${topic} rise`, { name: 'search', description: 'Searches.', schema: input });
const publish = tool(() => 'published', { name: 'publish', description: 'Publishes.', schema: z.object({}) });

async function runAgent(ctx: Syscalls, model: ReturnType<typeof fakeModel>, content: string): Promise<string> {
  const middleware = [procuraMiddleware(ctx, { prefix: 'web' })];
  const agent = createAgent({ model, tools: [search, publish], middleware });
  const { messages } = await invokeAgent(ctx, agent, { messages: [{ role: 'user', content }] });
  return String(messages.at(-1)?.text);
}

// The tools that an image names: no process of it is run before they are there, also after a restart.
const tools = ['web.search', 'web.publish'];
const researcher = defineImage({
  name: 'researcher',
  tools,
  input,
  run: async (ctx, { topic }) => {
    const model = fakeModel().respondWithTools([{ name: 'search', args: { topic } }]);
    model.respond(([, , found]) => new AIMessage(`I found: ${found?.text}.`));
    return runAgent(ctx, model, topic);
  },
});
const editor = defineImage({
  name: 'editor',
  tools,
  input: z.object({ notes: z.array(z.string()) }),
  run: (ctx, { notes }) => {
    const model = fakeModel().respondWithTools([{ name: 'publish', args: {} }]);
    model.respond(new AIMessage(`${notes.length} notes edited. I may not publish.`));
    return runAgent(ctx, model, notes.join('\n'));
  },
});

// The researchers may search, which the editor may not, and nobody may publish.
const callModel = { resource: modelResource(fakeModel()), rights: ['call'] as const, delegable: true };
const callSearch = { resource: 'tool:web.search', rights: ['call'] as const, delegable: true };
const lead = defineImage({
  name: 'lead',
  run: async (ctx) => {
    const delegate = [callModel, callSearch];
    const notes = await Promise.all(topics.map((topic) => ctx.call(researcher, { topic }, { delegate })));
    return [...notes, await ctx.call(editor, { notes }, { delegate: [callModel] })];
  },
});

const kernel = await createKernel({ images: [researcher, editor, lead] });
governTools(kernel, [search, publish], { prefix: 'web', effects: { search: 'pure' } });
const capabilities = [callModel, callSearch];
const pid = await kernel.processes.spawn({ image: lead, capabilities, budget: { tokens: 50_000 } });
for (const text of await kernel.processes.value(pid)) console.log(text);
const [first] = await kernel.processes.children(pid);
for await (const part of kernel.agents.stream(first?.pid ?? '')) {
  if (part.type === 'tool-call')
    console.log(`${first?.name ?? first?.image} calls ${part.tool} ${JSON.stringify(part.args)}`);
  if (part.type === 'tool-result') console.log(`  ${part.result}`);
}
const [denied] = (await kernel.audit.list({ decision: 'deny' })).items;
console.log(`On record as ${denied?.outcome}: ${denied?.resource}.`);
await kernel.shutdown();
