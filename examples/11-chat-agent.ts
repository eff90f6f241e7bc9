/* A chat in the terminal. Ctrl-C ends the program; the next start goes on with the conversation where it was. */
import { createInterface } from 'node:readline';
import { createKernel } from 'procura';
import { agentImage, modelResource } from 'procura/ai-sdk';
import { type PromptMessage, scriptedModel } from 'procura/testing';

// openai('gpt-5') and the like can take its place.
const model = scriptedModel(Array.from({ length: 100 }, () => answer));
const image = agentImage({
  name: 'chat',
  model,
  system: 'You are brief.',
  conversation: true,
  context: { tokensMax: 8_000 },
});

/** Starts the program, chats, and ends it. The process is the same each time: it is found by its id. */
async function chat(lines: AsyncIterable<string> | readonly string[]): Promise<void> {
  const kernel = await createKernel({ store: 'chat.db', images: [image] });
  process.once('SIGINT', () => void kernel.shutdown().then(() => process.exit()));
  const capabilities = [{ resource: modelResource(model), rights: ['call' as const] }];
  const pid = await kernel.processes.spawn({ id: 'chat', image, capabilities, budget: { tokens: 100_000 } });
  const transcript = await kernel.processes.transcript(pid);
  const { messages = [] } = (transcript?.payload ?? {}) as { messages?: { role: string; text: string }[] };
  for (const { role, text } of messages) console.log(`(${role}: ${text})`);
  for await (const line of lines) {
    const { text, usage } = await kernel.agents.say(pid, line);
    console.log(`${text} [${usage.totalTokens} tokens]`);
  }
  await kernel.shutdown();
}

if (process.stdin.isTTY) await chat(createInterface({ input: process.stdin }));
else {
  await chat(['My name is Ann.']);
  await chat(['What is my name?']);
}

/** What the model answers to the conversation so far. */
function answer(prompt: readonly PromptMessage[]): string {
  const said = prompt.filter(({ role }) => role === 'user').map(({ content }) => JSON.stringify(content));
  const name = /My name is (\w+)/.exec(said.join())?.[1];
  return said.at(-1)?.includes('?') ? `You are ${name}.` : `Hello, ${name}.`;
}
