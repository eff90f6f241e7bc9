/* Steps that are done once, although the kernel is closed in the middle. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createKernel, defineSteps } from 'procura';

const said = (text, value) => console.log(text) ?? value;
const report = defineSteps({
  name: 'report',
  steps: [
    { name: 'collect', run: (_ctx, { topic }) => said('collecting', [`${topic} rise`, `${topic} fall`]) },
    { name: 'check', run: (_ctx, sources) => pause(500, said('checking', sources)), retry: { attempts: 3 } },
    { name: 'write', run: (_ctx, sources) => said('writing', { text: sources.join(', ') }) },
  ],
});

const folder = mkdtempSync(join(tmpdir(), 'procura-example-'));
const options = { store: join(folder, 'steps.db'), images: [report] };
const before = await createKernel(options);
const pid = await before.processes.spawn({ image: 'report', args: { topic: 'tides' } });

// While it checks, ask it to pause: it finishes the step, and begins no other. Then go away.
for await (const { type, data } of before.events.stream({ pid })) {
  if (type === 'step.started' && data.name === 'check') await before.processes.pause(pid);
  if (type === 'step.completed' && data.name === 'check') break;
}
await before.shutdown();

const after = await createKernel(options);
console.log(`Opened again: it is ${(await after.processes.get(pid)).status}.`);
await after.processes.resume(pid);
console.log(`Its result: ${(await after.processes.result(pid)).value.text}.`);
await after.shutdown();
rmSync(folder, { recursive: true });
