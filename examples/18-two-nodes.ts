/* Two programs share the processes of one store. One of them is killed, and the other one finishes its process. */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createKernel, defineImage } from 'procura';

const name = process.argv[2] ?? '';
// With PROCURA_STORE=postgres://USER:PASSWORD@HOST/DATABASE, the nodes may be on different machines.
const given = process.env.PROCURA_STORE || undefined;
const folder = given ?? mkdtempSync(join(tmpdir(), 'procura-example-'));
const store = given ?? join(folder, 'nodes.db');

const report = defineImage({
  name: 'report',
  run: async (ctx) => {
    const collector = await ctx.step('collect', () => name);
    await ctx.receive();
    return { collector, writer: name };
  },
});

async function killOne(): Promise<void> {
  await using kernel = await createKernel({ store, images: [report], node: { executor: false } });
  const pid = await kernel.processes.spawn({ image: report });
  const env = { ...process.env, PROCURA_STORE: store };
  const start = (node: string) => fork(fileURLToPath(import.meta.url), [node], { env });
  const nodes = { left: start('left'), right: start('right') };
  for await (const event of kernel.events.stream({ pid })) if (event.type === 'step.completed') break;
  const [collected] = await kernel.processes.journal(pid, { values: true });
  nodes[collected?.value as 'left' | 'right'].kill('SIGKILL');
  await kernel.processes.send(pid, 'go on');
  const { collector, writer } = await kernel.processes.value(pid);
  console.log(`Collected by ${collector}, which was killed, and written by ${writer}.`);
  for (const node of Object.values(nodes)) node.kill('SIGKILL');
}

// A node looks for others that are lost whenever it renews its lease, which is after a third of it.
if (name === '') await killOne();
if (name === '' && given === undefined) rmSync(folder, { recursive: true });
// A node ends with the program that has started it.
if (name !== '') process.once('disconnect', () => process.exit());
if (name !== '') await createKernel({ store, images: [report], node: { name, leaseMs: 3_000 } });
