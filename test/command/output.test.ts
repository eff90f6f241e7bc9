import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandFixture, uniqueSeconds } from '../support/command-fixture.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';

const megabyte = 1_000_000;

describe('reading the output of a command', () => {
  it('gives parts by their place, cut at a character, and says what follows', async () => {
    const { kernel, face } = await commandFixture();
    const { pid } = await face.run({ argv: ['sh', '-c', 'printf "aé€😀z"; printf wrong >&2'] });
    const size = 1 + 2 + 3 + 4 + 1;
    expect(await kernel.processes.readOutput(pid)).toEqual({ text: 'aé€😀z', next: size, size, ended: true });
    expect(await face.readOutput(pid, { stream: 'stderr' })).toEqual({ text: 'wrong', next: 5, size: 5, ended: true });
    const parts: [string, number][] = [];
    for (let offset = 0; offset < size; ) {
      const { text, next } = await kernel.processes.readOutput(pid, { offset, length: 2 });
      expect(next).toBeGreaterThan(offset);
      parts.push([text, next]);
      offset = next;
    }
    expect(parts).toEqual([
      ['a', 1],
      ['é', 3],
      ['€', 6],
      ['😀', 10],
      ['z', 11],
    ]);
    expect(await kernel.processes.readOutput(pid, { offset: 100 })).toEqual({ text: '', next: 100, size, ended: true });
  });

  it('works while it runs, after its end and after a restart', async () => {
    const store = await newStore();
    const { kernel, face } = await commandFixture({}, { store });
    const seconds = uniqueSeconds();
    const { pid } = await face.run({ argv: ['sh', '-c', `echo one; sleep ${seconds}`], background: true });
    await kernel.processes.waitOutput(pid, 'one');
    expect(await kernel.processes.readOutput(pid)).toEqual({ text: 'one\n', next: 4, size: 4, ended: false });
    await kernel.shutdown();
    const again = await openKernel({ store });
    expect(await again.processes.readOutput(pid)).toEqual({ text: 'one\n', next: 4, size: 4, ended: true });
  });

  it('is for commands, for the host and for their own parent', async () => {
    const { kernel, pid, face } = await commandFixture();
    const stranger = kernel.as(await kernel.processes.spawn({}));
    const { pid: child } = await face.run({ argv: ['true'] });
    expect((await refusal(stranger.readOutput(child))).code).toBe('NOT_A_CHILD');
    expect((await refusal(stranger.waitOutput('p_unknown', 'x'))).code).toBe('NOT_A_CHILD');
    expect((await refusal(kernel.processes.readOutput('p_unknown'))).code).toBe('NO_SUCH_PROCESS');
    expect((await refusal(kernel.processes.readOutput(pid))).code).toBe('INVALID_TRANSITION');
    for (const options of [{ length: 0 }, { length: 2 ** 21 }, { offset: -1 }, { stream: 'both' }]) {
      expect((await refusal(kernel.processes.readOutput(child, options as never))).code).toBe('INVALID_INPUT');
    }
    for (const pattern of ['', 7, {}, 'x'.repeat(5_000)]) {
      expect((await refusal(kernel.processes.waitOutput(child, pattern as never))).code).toBe('INVALID_INPUT');
    }
  });
});

describe('waiting for output', () => {
  it('finds what comes, what is there already, and what comes in pieces', async () => {
    const { kernel, face, workspace } = await commandFixture();
    const script =
      'echo ready; printf "port=" ; sleep 0.1; printf "80"; sleep 0.1; echo 80; until [ -e go ]; do sleep 0.02; done; echo "wrong" >&2';
    const { pid } = await face.run({ argv: ['sh', '-c', script], background: true });
    expect(await face.waitOutput(pid, 'ready')).toEqual({ matched: true, text: 'ready', next: 5, ended: false });
    const port = await kernel.processes.waitOutput(pid, /port=(\d+)\n/g);
    expect(port).toMatchObject({ matched: true, text: 'port=8080\n', next: 16 });
    writeFileSync(path.join(workspace, 'go'), '');
    expect(await kernel.processes.waitOutput(pid, 'wrong', { stream: 'stderr' })).toMatchObject({ matched: true });
    await kernel.processes.result(pid);
    expect(await kernel.processes.waitOutput(pid, 'ready')).toMatchObject({ matched: true, next: 5, ended: true });
    expect(await kernel.processes.waitOutput(pid, 'ready', { offset: 5 })).toMatchObject({
      matched: false,
      ended: true,
    });
  });

  it('ends with the command, and when the time is over', async () => {
    const { kernel, face } = await commandFixture();
    const seconds = uniqueSeconds();
    const { pid } = await face.run({ argv: ['sh', '-c', `echo é; sleep ${seconds}`], background: true });
    expect(await kernel.processes.waitOutput(pid, 'never', { timeoutMs: 100 })).toMatchObject({
      matched: false,
      ended: false,
    });
    const waiting = kernel.processes.waitOutput(pid, 'never');
    await kernel.processes.kill(pid);
    expect(await waiting).toMatchObject({ matched: false, ended: true });
  });

  it('finds a text far behind a flood, and counts bytes also where they are no text', async () => {
    const { kernel, face } = await commandFixture();
    const script = `head -c ${3 * megabyte} /dev/zero | tr '\\\\0' x; printf '\\377\\376needle'`;
    const { pid } = await face.run({ argv: ['sh', '-c', script] });
    const found = await kernel.processes.waitOutput(pid, 'needle');
    expect(found).toEqual({ matched: true, text: 'needle', next: 3 * megabyte + 8, ended: true });
  });
});

describe('a flood of output', () => {
  it('of a hundred megabytes goes to the file and not to the heap', { timeout: 120_000 }, async () => {
    const { kernel, face } = await commandFixture();
    const before = process.memoryUsage();
    const { pid } = await face.run({ argv: ['sh', '-c', `head -c ${100 * megabyte} /dev/zero`], background: true });
    let most = 0;
    const look = setInterval(() => {
      const { heapUsed, external } = process.memoryUsage();
      most = Math.max(most, heapUsed - before.heapUsed + external - before.external);
    }, 20);
    const { value } = await kernel.processes.result(pid);
    clearInterval(look);
    expect(most).toBeLessThan(50 * megabyte);
    const { stdout, truncated } = value as { stdout: string; truncated: boolean };
    expect(truncated).toBe(true);
    expect(stdout.length).toBeLessThan(40_000);
    expect((await kernel.processes.readOutput(pid, { offset: 99 * megabyte, length: 10 })).size).toBe(100 * megabyte);
  });

  it('is shown by its head and its tail, each cut at a character', async () => {
    const { face } = await commandFixture();
    const script = 'printf "begin "; i=0; while [ $i -lt 20000 ]; do printf "€"; i=$((i+1)); done; printf " end"';
    const { stdout, truncated } = await face.run({ argv: ['sh', '-c', script] });
    expect(truncated).toBe(true);
    const [, left] = /^begin €+\n\[… (\d+) bytes …\]\n€+ end$/.exec(stdout) ?? [];
    expect(Number(left)).toBeGreaterThan(20_000);
    expect(Buffer.byteLength(stdout)).toBeLessThan(33 * 1024);
  });
});
