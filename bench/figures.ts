import { spawnSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createKernel } from '../src/index.js';
import { elapsedMs, inTempFolder, median, rate } from './support.js';

/** Milliseconds for the cancel of a tree of `processes`. */
export function cancelMs(processes: number): Promise<number> {
  return inTempFolder(async (folder) => {
    await using kernel = await createKernel({ store: join(folder, 'cancel.db') });
    const root = await kernel.processes.spawn({});
    const middle = await Promise.all(Array.from({ length: 99 }, () => kernel.processes.spawnChild(root, {})));
    await rate(processes - 100, 256, (index) => kernel.processes.spawnChild(middle[index % 99] ?? root, {}));
    return elapsedMs(() => kernel.processes.cancel(root));
  });
}

/** Audit records verified per second. */
export function verifyRate(records: number): Promise<number> {
  return inTempFolder(async (folder) => {
    await using kernel = await createKernel({ store: join(folder, 'verify.db'), durability: 'normal' });
    const root = await kernel.processes.spawn({});
    await rate(records, 256, () => kernel.processes.charge(root, { tokens: 1 }));
    const rates: number[] = [];
    for (let round = 0; round < 3; round++) {
      rates.push((records / (await elapsedMs(() => kernel.audit.verify()))) * 1000);
    }
    return median(rates);
  });
}

/** Milliseconds from the commit of a spawn, as its caller sees it, to the delivery of its event on a stream. */
export function streamMs(spawns: number): Promise<number> {
  return inTempFolder(async (folder) => {
    await using kernel = await createKernel({ store: join(folder, 'stream.db') });
    const root = await kernel.processes.spawn({});
    const arrived = new Map<string, number>();
    const stop = new AbortController();
    const reading = (async () => {
      for await (const event of kernel.events.stream({ types: ['process.spawned'], signal: stop.signal })) {
        arrived.set(event.pid ?? '', performance.now());
      }
    })();
    const committed = new Map<string, number>();
    for (let index = 0; index < spawns; index++) {
      const pid = await kernel.processes.spawnChild(root, {});
      committed.set(pid, performance.now());
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    stop.abort();
    await reading;
    return median([...committed].map(([pid, at]) => Math.max(0, (arrived.get(pid) ?? Number.NaN) - at)));
  });
}

/** Bytes of the database per process that was spawned, has ended and was waited for. */
export function bytesPerProcess(processes: number): Promise<number> {
  return inTempFolder(async (folder) => {
    const path = join(folder, 'bytes.db');
    const kernel = await createKernel({ store: path, durability: 'normal' });
    const root = await kernel.processes.spawn({});
    await rate(processes, 64, async (index) => {
      const pid = await kernel.processes.spawnChild(root, { goal: `part ${index}` });
      await kernel.processes.exit(pid, { result: { index } });
      await kernel.processes.wait(root, pid);
    });
    await kernel.shutdown();
    return statSync(path).size / processes;
  });
}

/** Milliseconds from the import to the first spawn on a new file, in a program of its own, after the build. */
export function firstSpawnMs(): Promise<number> {
  return inTempFolder(async (folder) => {
    const library = new URL('../dist/index.js', import.meta.url).href;
    const program = join(folder, 'first.mjs');
    writeFileSync(
      program,
      `const started = performance.now();
const { createKernel } = await import(${JSON.stringify(library)});
const kernel = await createKernel({ store: ${JSON.stringify(join(folder, 'first.db'))} });
await kernel.processes.spawn({});
console.log(performance.now() - started);
await kernel.shutdown();`,
    );
    const runs = Array.from({ length: 3 }, () =>
      Number(spawnSync(process.execPath, [program], { encoding: 'utf8' }).stdout),
    );
    return median(runs);
  });
}
