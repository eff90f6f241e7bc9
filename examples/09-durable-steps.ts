/* Each step runs once, even if the program ends between two steps. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKernel, defineSteps } from 'procura';
import { z } from 'zod';

const report = defineSteps('report', { input: z.object({ topic: z.string() }) })
  .step('collect', (_ctx, { topic }) => {
    console.log('collecting');
    return [`${topic} rise`, `${topic} fall`];
  })
  .step('check', async (_ctx, sources) => {
    console.log('checking');
    await sleep(500);
    return sources;
  })
  .step('write', (_ctx, sources) => {
    console.log('writing');
    return { text: sources.join(', ') };
  });

const folder = mkdtempSync(join(tmpdir(), 'procura-example-'));
const options = { store: join(folder, 'steps.db'), images: [report] };
const before = await createKernel(options);
const pid = await before.processes.spawn({ image: report, args: { topic: 'tides' } });

// Pause the process during the second step: the step is finished and the next one is not started. Then shut down.
for await (const { type, data } of before.events.stream({ pid, types: ['step.started', 'step.completed'] })) {
  if (data.name === 'check' && type === 'step.started') await before.processes.pause(pid);
  if (data.name === 'check' && type === 'step.completed') break;
}
await before.shutdown();

const after = await createKernel(options);
console.log(`Opened again: the process is ${(await after.processes.get(pid)).status}.`);
await after.processes.resume(pid);
console.log(`Its result: ${(await after.processes.value(pid)).text}.`);
await after.shutdown();
rmSync(folder, { recursive: true });
