import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createKernel, defineImage, KernelError } from '../../../src/index.js';
import { nextLine, print } from './stdio.js';

/**
 * A conversation that answers each message in one turn, and begins anew after every second one. It kills its own program when it
 * comes to a point for the first time: before and after the commit of a turn, after its answer, and before a renewal.
 */
const [store = '', passed = ''] = process.argv.slice(2);
print('ready');
await nextLine();

const point = (name: string) => {
  const known = existsSync(passed) ? readFileSync(passed, 'utf8').split('\n') : [];
  if (known.includes(name)) return;
  appendFileSync(passed, `${name}\n`);
  process.kill(process.pid, 'SIGKILL');
};
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

const talker = defineImage({
  name: 'talker',
  conversation: true,
  run: async (ctx) => {
    let { said } = (ctx.state ?? { said: 0 }) as { said: number };
    for (let turns = 0; ; turns++) {
      if (turns === 2) {
        point(`renew ${said}`);
        return ctx.renew({ said });
      }
      const { body } = await ctx.receive();
      said++;
      const { turns: told } = ctx;
      told.publish({ type: 'turn-start' });
      told.publish({ type: 'text', text: `${said}:` });
      point(`turn ${said}`);
      const text = `${said}:${String(body)}`;
      await told.commit([{ type: 'turn-start' }, { type: 'text', text }, { type: 'turn-end', usage }]);
      point(`committed ${said}`);
      await told.answer({ text, usage });
      point(`answered ${said}`);
    }
  },
});
const kernel = await createKernel({
  logger: 'silent',
  store,
  durability: 'normal',
  images: [talker],
  node: { pollMs: 5 },
});
const pid = await kernel.processes.spawn({ id: 'talker', image: 'talker' });
print(`node ${kernel.nodeId}`);
const say = (text: string, id: string): Promise<string> =>
  kernel.agents.say(pid, text, { id }).then(
    (reply) => reply.text,
    (error: unknown) => (error instanceof KernelError ? error.code : String(error)),
  );
const replies: string[] = [];
for (let n = 1; n <= 5; n++) replies.push(await say(`m${n}`, `id${n}`));
print(`replies ${JSON.stringify(replies)}`);
await nextLine();
