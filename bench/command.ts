import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createKernel } from '../src/index.js';
import { inTempFolder, median, rate } from './support.js';

const rounds = 3;

/** Runs of `true` per second: as command processes, and by bare spawns with pipes, in turn in the same run. */
export function commandRates(callers: number, runs: number): Promise<{ kernel: number; bare: number; ratio: number }> {
  return inTempFolder(async (folder) => {
    await using kernel = await createKernel({ store: join(folder, 'commands.db'), workspace: folder });
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'command:true', rights: ['call'] }] });
    const face = kernel.as(pid);
    const figures: { kernel: number; bare: number; ratio: number }[] = [];
    for (let round = 0; round <= rounds; round++) {
      const bare = await rate(runs, callers, bareSpawn);
      const ours = await rate(runs, callers, () => face.run({ argv: ['true'] }));
      figures.push({ kernel: ours, bare, ratio: ours / bare });
    }
    const of = (pick: (figure: (typeof figures)[number]) => number) => median(figures.slice(1).map(pick));
    return { kernel: of((each) => each.kernel), bare: of((each) => each.bare), ratio: of((each) => each.ratio) };
  });
}

/** The same run without a kernel: output is read through pipes to its end. */
function bareSpawn(): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('true', [], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
      });
    }
    child.on('error', reject);
    child.on('close', () => resolve(output));
  });
}
