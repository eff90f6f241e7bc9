import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Kernel } from '../../src/index.js';
import { openKernel } from '../support/kernel.js';
import { movableMonotonicClock } from '../support/monotonic-clock.js';
import { isSqlite } from '../support/store-kind.js';

const minute = 60_000;
const hour = 60 * minute;

/** The machine's clock goes on, and can be stepped without time passing. */
function steppableMachineClock(): { step(ms: number): void } {
  let stepMs = 0;
  const real = Date.now.bind(Date);
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => real() + stepMs);
  onTestFinished(() => void clock.mockRestore());
  return {
    step: (ms) => {
      stepMs += ms;
    },
  };
}

async function timeOf(kernel: Kernel): Promise<number> {
  return (await kernel.processes.get(await kernel.processes.spawn({}))).createdAt;
}

async function clockFixture() {
  const [machine, monotonic] = [steppableMachineClock(), movableMonotonicClock()];
  const warnings: string[] = [];
  const logger = { warn: (_facts: unknown, text: string) => void warnings.push(text), error: () => undefined };
  const kernel = await openKernel({ node: { executor: false }, logger });
  return { kernel, machine, monotonic, warnings, start: await timeOf(kernel) };
}

describe('kernel time', () => {
  // On PostgreSQL kernel time is that of the server.
  it.runIf(isSqlite)('follows the clock of the machine forward, as after the machine has slept', async () => {
    const { kernel, machine, start, warnings } = await clockFixture();
    machine.step(hour - minute);
    expect(await timeOf(kernel)).toBeGreaterThanOrEqual(start + hour - minute);
    expect(warnings).toEqual([]);
  });

  it('never goes back', async () => {
    const { kernel, machine, start } = await clockFixture();
    machine.step(-5 * hour);
    const later = await timeOf(kernel);
    expect(later).toBeGreaterThanOrEqual(start);
    machine.step(5 * hour);
    expect(await timeOf(kernel)).toBeGreaterThanOrEqual(later);
  });

  it.runIf(isSqlite)(
    'follows a step of more than an hour only when it still stands after a minute, and tells of it first',
    async () => {
      const { kernel, machine, monotonic, start, warnings } = await clockFixture();
      machine.step(48 * hour);
      expect(await timeOf(kernel)).toBeLessThan(start + hour);
      expect(warnings).toEqual(['the clock of this machine was set forward; it is followed in a minute']);
      monotonic.advance(minute);
      machine.step(minute);
      expect(await timeOf(kernel)).toBeGreaterThanOrEqual(start + 48 * hour);
    },
  );

  it.runIf(isSqlite)('ignores a step of more than an hour that is taken back within a minute', async () => {
    const { kernel, machine, monotonic, start, warnings } = await clockFixture();
    machine.step(48 * hour);
    expect(await timeOf(kernel)).toBeLessThan(start + hour);
    machine.step(-48 * hour);
    await timeOf(kernel);
    monotonic.advance(minute);
    machine.step(minute);
    expect(await timeOf(kernel)).toBeLessThan(start + hour);
    expect(warnings).toHaveLength(1);
  });
});
