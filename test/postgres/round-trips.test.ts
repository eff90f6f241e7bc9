import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { newStore, openKernel } from '../support/kernel.js';

interface Trips {
  writer: number;
}

/** Counts the batches that writers send from now on. */
function countTrips(): Trips {
  const trips: Trips = { writer: 0 };
  const prototype = pg.Client.prototype as { query: (...args: never[]) => unknown };
  const { query } = prototype;
  prototype.query = function (this: { connectionParameters: { application_name: string } }, ...args: never[]) {
    if (this.connectionParameters.application_name.endsWith('writer')) trips.writer++;
    return query.apply(this, args);
  };
  onTestFinished(() => {
    prototype.query = query;
  });
  return trips;
}

it('a lone spawnChild is two round trips, three beside another writer', async () => {
  const store = await newStore();
  const kernel = await openKernel({ store, node: { executor: false } });
  const root = await kernel.processes.spawn({});
  await kernel.processes.spawnChild(root, {});
  const trips = countTrips();
  await kernel.processes.spawnChild(root, {});
  expect(trips.writer).toBe(2);
  const other = await openKernel({ store, node: { executor: false } });
  await other.processes.spawn({});
  const before = trips.writer;
  await kernel.processes.spawnChild(root, {});
  // The first one finds out that it is not alone any more; from then on the processes are read with the lock.
  const found = trips.writer - before;
  await other.processes.spawn({});
  const again = trips.writer;
  await kernel.processes.spawnChild(root, {});
  expect(trips.writer - again).toBeLessThanOrEqual(3);
  expect(found).toBeLessThanOrEqual(6);
});

it('a group of 64 spawns under one parent is two round trips', async () => {
  const kernel = await openKernel({ node: { executor: false } });
  const root = await kernel.processes.spawn({});
  await kernel.processes.spawnChild(root, {});
  const trips = countTrips();
  await Promise.all(Array.from({ length: 64 }, () => kernel.processes.spawnChild(root, {})));
  expect(trips.writer).toBe(2);
});
