/* A team of LangChain agents: a lead and two researchers, each a process. fakeModel() keeps it offline; any chat model fits. */
import { AIMessage, createAgent, fakeModel, tool } from 'langchain';
import { createKernel, defineImage, type Syscalls } from 'procura';
import { governTools, invokeAgent, modelResource, procuraMiddleware } from 'procura/langchain';
import { z } from 'zod';

const input = z.object({ topic: z.string() });
const search = tool(({ topic }) => `${topic} rise`, { name: 'search', description: 'Searches.', schema: input });
const publish = tool(() => 'published', { name: 'publish', description: 'Publishes.', schema: z.object({}) });
async function runAgent(ctx: Syscalls, model: ReturnType<typeof fakeModel>, content: string): Promise<string> {
  const middleware = [procuraMiddleware(ctx, { prefix: 'web' })];
  const agent = createAgent({ model, tools: [search, publish], middleware });
  const { messages } = await invokeAgent(ctx, agent, { messages: [{ role: 'user', content }] });
  return String(messages.at(-1)?.text);
}
const searching = [modelResource(fakeModel()), 'tool:web.search'];
const call = searching.map((resource) => ({ resource, rights: ['call'] as const, delegable: true }));
const researcher = defineImage({
  name: 'researcher',
  input,
  run: async (ctx, { topic }) => {
    const model = fakeModel().respondWithTools([{ name: 'search', args: { topic } }]);
    model.respond(([, , found]) => new AIMessage(`I found: ${found?.text}.`));
    return runAgent(ctx, model, topic);
  },
});
const lead = defineImage({
  name: 'lead',
  run: async (ctx) => {
    const notes = await Promise.all(
      ['tides', 'winds'].map((topic) => ctx.call(researcher, { topic }, { delegate: call })),
    );
    const model = fakeModel().respondWithTools([{ name: 'publish', args: {} }]);
    return runAgent(ctx, model.respond(new AIMessage(`${notes.join(' ')} I may not publish.`)), 'Publish it.');
  },
});

const kernel = await createKernel({ images: [researcher, lead] });
governTools(kernel, [search, publish], { prefix: 'web', effects: { search: 'pure' } });
const pid = await kernel.processes.spawn({ image: lead, capabilities: call, budget: { tokens: 50_000 } });
console.log(await kernel.processes.value(pid));
const [denied] = (await kernel.audit.list({ decision: 'deny' })).items;
console.log(`On record as ${denied?.outcome}: ${denied?.resource}.`);
await kernel.shutdown();
