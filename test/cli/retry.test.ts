import { expect, it } from 'vitest';
import { defineImage, type Kernel, type Pid, type Syscalls } from '../../src/index.js';
import { refusalOf, runCli } from '../support/cli/run-cli.js';
import { eventually } from '../support/eventually.js';
import { gate } from '../support/gate.js';
import { newStore, openKernel } from '../support/kernel.js';

const never = () => new Promise<never>(() => undefined);

function image(version: string, build: string, run: (ctx: Syscalls) => Promise<number>) {
  return defineImage({ name: 'payer', version, build, run });
}

/** A process that waits for code, with the open kernel whose build could not replay its journal. */
async function parked(): Promise<{ store: string; kernel: Kernel; pid: Pid }> {
  const store = await newStore();
  const reached = gate();
  const first = image('1', 'good', async (ctx) => {
    await ctx.step('pay', () => 1);
    reached.open();
    return never();
  });
  const before = await openKernel({ store, images: [first] });
  const pid = await before.processes.spawn({ image: 'payer' });
  await reached.opened;
  await before.shutdown({ graceMs: 0 });
  const bad = image('1', 'bad', (ctx) => ctx.step('pay twice', () => 2));
  const fixed = image('2', 'fixed', (ctx) => ctx.step('pay', () => 2));
  const kernel = await openKernel({ store, images: [bad, fixed], node: { pollMs: 20 } });
  await eventually(async () => expect((await kernel.processes.get(pid)).wait?.kind).toBe('code'));
  return { store, kernel, pid };
}

it('ps and show tell that a process waits for code', async () => {
  const { store, pid } = await parked();
  expect((await runCli(['ps', '--store', store])).stdout).toMatch(/waiting \(code\)/);
  const { stdout } = await runCli(['show', pid, '--store', store]);
  expect(stdout).toMatch(/waits for\s+code of payer@1: "step pay #1" is recorded, "step pay twice #1" was asked/);
  expect(stdout).toMatch(/failed builds\s+bad/);
});

it('retry has it run again, and with --version as another version over the same journal', async () => {
  const { store, kernel, pid } = await parked();
  const since = (await kernel.processes.get(pid)).wait?.since ?? 0;
  const again = await runCli(['retry', pid.slice(-10), '--store', store]);
  expect(again).toEqual({ exitCode: 0, stdout: `${pid} is runnable again, as payer@1\n`, stderr: '' });
  await eventually(async () => expect((await kernel.processes.get(pid)).wait?.since).toBeGreaterThan(since));
  const moved = await runCli(['retry', pid, '--version', '2', '--json', '--store', store]);
  expect(JSON.parse(moved.stdout)).toEqual({ pid, status: 'runnable', image: 'payer@2' });
  expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: 1 });
});

it('retry is refused for a process that does not wait for code, and without a pid', async () => {
  const { store, kernel } = await parked();
  const other = await kernel.processes.spawn({});
  const run = async (...args: string[]) => refusalOf(await runCli([...args, '--store', store]));
  expect(await run('retry', other)).toEqual({ exitCode: 1, code: 'INVALID_TRANSITION' });
  expect(await run('retry', other, '--version', 'a b')).toEqual({ exitCode: 1, code: 'INVALID_INPUT' });
  expect(await run('retry')).toEqual({ exitCode: 2, code: 'USAGE' });
  expect((await runCli(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+/);
});
