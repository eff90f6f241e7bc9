/* Two programs share the processes of one store. One of them is killed, and the other one finishes its process. */
import { type ChildProcess, fork } from 'node:child_process';
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

function startNode(node: string): ChildProcess {
  return fork(fileURLToPath(import.meta.url), [node], { env: { ...process.env, PROCURA_STORE: store } });
}

async function killOne(): Promise<void> {
  await using kernel = await createKernel({ store, images: [report], node: { executor: false } });
  const pid = await kernel.processes.spawn({ image: report });
  const nodes = { left: startNode('left'), right: startNode('right') };
  for await (const event of kernel.events.stream({ pid })) if (event.type === 'step.completed') break;
  const [collected] = await kernel.processes.journal(pid);
  nodes[collected?.value as 'left' | 'right'].kill('SIGKILL');
  await kernel.processes.send(pid, 'go on');
  const { collector, writer } = await kernel.processes.value(pid);
  console.log(`Collected by ${collector}, which was killed, and written by ${writer}.`);
  for (const node of Object.values(nodes)) node.kill('SIGKILL');
}

// A node looks for others that are lost whenever it renews its lease, which is after a third of it.
if (name === '') await killOne();
if (name === '' && given === undefined) rmSync(folder, { recursive: true });
if (name !== '') await createKernel({ store, images: [report], node: { name, leaseMs: 3_000 } });
