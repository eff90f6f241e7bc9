import { createKernel, type Kernel, type KernelOptions } from '../index.js';
import { TestClock } from './test-clock.js';

/** The options of `createTestKernel`: those of `createKernel`, with other defaults. */
export interface TestKernelOptions extends Omit<KernelOptions, 'clock' | 'seed'> {
  /** Default: a new clock, which stands at the first of January 2025. */
  readonly clock?: TestClock;
  /** The seed of ids, salts and the signing key; default `test`. `false`: they are random. */
  readonly seed?: string | false;
}

/** A kernel whose time stands still until its clock is moved. */
export interface TestKernel extends Kernel {
  /** The clock, which the test moves. */
  readonly clock: TestClock;
}

/**
 * Opens a kernel for tests: in memory, silent and seeded, with a clock that the test moves. Each option can be replaced.
 * `await using` shuts it down at the end of the test. It needs no particular test runner. Throws as `createKernel`.
 *
 * @example
 * await using kernel = await createTestKernel({ images: [reminder] });
 * const pid = await kernel.processes.spawn({ image: 'reminder' });
 * await kernel.clock.advance(24 * 60 * 60 * 1000);
 * assert.equal((await kernel.processes.get(pid)).status, 'exited');
 */
export async function createTestKernel(options: TestKernelOptions = {}): Promise<TestKernel> {
  const { clock = new TestClock(), seed = 'test', ...others } = options;
  const seeded = seed === false ? {} : { seed };
  return Object.assign(await createKernel({ logger: 'silent', ...others, ...seeded, clock }), { clock });
}
