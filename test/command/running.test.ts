import { mkdirSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { anyCommand, commandFixture } from '../support/command-fixture.js';
import { checkInvariants } from '../support/invariants.js';
import { refusal } from '../support/kernel.js';

const sh = (script: string) => ['sh', '-c', script];

describe('a command', () => {
  it('runs as a child of the process, and its result is what it wrote and how it ended', async () => {
    const { kernel, store, pid, face } = await commandFixture();
    const result = await face.run({ argv: sh('echo out; echo err >&2') });
    expect(result).toEqual({
      pid: result.pid,
      exitCode: 0,
      signal: null,
      stdout: 'out\n',
      stderr: 'err\n',
      truncated: false,
      durationMs: result.durationMs,
      timedOut: false,
      outputFile: path.join(`${realpathSync(store)}.state`, 'output', '2.out'),
      errorFile: path.join(`${realpathSync(store)}.state`, 'output', '2.err'),
    });
    const record = await kernel.processes.get(result.pid);
    expect(record).toMatchObject({
      kind: 'command',
      status: 'exited',
      image: 'command@1',
      name: 'sh',
      parent: pid,
      outcome: { kind: 'completed', exitCode: 0, signal: null },
      command: { line: 'sh -c "echo out; echo err >&2"', outputFile: result.outputFile, errorFile: result.errorFile },
    });
    expect(record.command?.osPid).toBeGreaterThan(1);
    expect(await kernel.processes.wait(pid, result.pid)).toMatchObject({ value: result, exitCode: 0 });
    await checkInvariants(kernel, store);
  });

  it('tells how long its program has run, also when that was not long', async () => {
    const { face } = await commandFixture();
    expect((await face.run({ argv: ['true'] })).durationMs).toBeGreaterThan(0);
    expect((await face.run({ argv: ['sleep', '0.05'] })).durationMs).toBeGreaterThanOrEqual(50);
  });

  it('that fails is a failed process, and still gives its result', async () => {
    const { kernel, store, face } = await commandFixture();
    const result = await face.run({ argv: sh('echo no >&2; exit 7') });
    expect(result).toMatchObject({ exitCode: 7, signal: null, stderr: 'no\n' });
    const { status, outcome, exitCode } = await kernel.processes.result(result.pid);
    expect({ status, outcome, exitCode }).toEqual({
      status: 'failed',
      outcome: { kind: 'failed', exitCode: 7, signal: null },
      exitCode: 7,
    });
    await checkInvariants(kernel, store);
  });

  it('that dies by a signal of its own keeps the name of the signal', async () => {
    const { kernel, face } = await commandFixture();
    const result = await face.run({ argv: sh('kill -KILL $$') });
    expect(result).toMatchObject({ exitCode: null, signal: 'SIGKILL' });
    expect((await kernel.processes.get(result.pid)).outcome).toEqual({
      kind: 'failed',
      exitCode: null,
      signal: 'SIGKILL',
    });
  });

  it('that is not there leaves a failed process with the reason, and the call says so', async () => {
    const { kernel, store, pid, face } = await commandFixture();
    for (const [program, errno] of [
      ['no-such-program', 'ENOENT'],
      ['./no-such-file', 'ENOENT'],
    ] as const) {
      const { code, facts } = await refusal(face.run({ argv: [program] }));
      expect({ code, facts }).toEqual({ code: 'TOOL_FAILED', facts: { pid: expect.any(String), errno } });
    }
    const [first] = await kernel.processes.children(pid);
    expect(first).toMatchObject({
      status: 'failed',
      outcome: { kind: 'failed', reason: 'not_started', evidence: { kind: 'not_started', errno: 'ENOENT' } },
    });
    await checkInvariants(kernel, store);
  });

  it('whose file may not be executed is not started either', async () => {
    const { workspace, face } = await commandFixture();
    writeFileSync(path.join(workspace, 'plain'), 'text', { mode: 0o600 });
    expect(await refusal(face.run({ argv: ['./plain'] }))).toMatchObject({
      code: 'TOOL_FAILED',
      facts: { errno: 'EACCES' },
    });
  });

  it('for whose output there is no place is not started', async () => {
    const { store, face } = await commandFixture();
    writeFileSync(`${store}.state/output`, 'a file where the folder should be');
    expect(await refusal(face.run({ argv: ['true'] }))).toMatchObject({ code: 'TOOL_FAILED' });
  });

  it('gets its arguments as they are, without a shell', async () => {
    const { face } = await commandFixture();
    const argv = ['printf', '%s|', 'a b', '$HOME', '*', '; echo no', ''];
    expect((await face.run({ argv })).stdout).toBe('a b|$HOME|*|; echo no||');
  });

  it('reads what it is given, and nothing otherwise', async () => {
    const { face } = await commandFixture();
    expect((await face.run({ argv: ['cat'], stdin: 'some text ✓\n' })).stdout).toBe('some text ✓\n');
    expect((await face.run({ argv: ['cat'] })).stdout).toBe('');
    // One that does not read its input ends all the same.
    expect((await face.run({ argv: ['true'], stdin: 'x'.repeat(1_000_000) })).exitCode).toBe(0);
  });

  it('runs where its process works, or where it is told to, as seen from there', async () => {
    const { kernel, workspace, pid, face } = await commandFixture();
    mkdirSync(path.join(workspace, 'a/b'), { recursive: true });
    await kernel.processes.chdir(pid, 'a');
    await kernel.capabilities.grant(pid, { resource: 'fs:a/**', rights: ['read'] });
    const real = realpathSync(workspace);
    expect((await face.run({ argv: ['pwd'] })).stdout).toBe(`${real}/a\n`);
    const inner = await face.run({ argv: ['pwd'], cwd: 'b' });
    expect(inner.stdout).toBe(`${real}/a/b\n`);
    expect((await kernel.processes.get(inner.pid)).cwd).toBe('a/b');
  });

  it('does not run in a folder that its process may not read, that is not there or that is outside', async () => {
    const { kernel, workspace, pid, face } = await commandFixture();
    mkdirSync(path.join(workspace, 'secret'));
    symlinkSync('/', path.join(workspace, 'out'));
    await kernel.capabilities.grant(pid, { resource: 'fs:open/**', rights: ['read'] });
    await kernel.capabilities.grant(pid, { resource: 'fs:out', rights: ['read'] });
    const codes = [];
    for (const cwd of ['secret', 'open', 'out', '..', '/etc', '~', 'a\0b']) {
      codes.push((await refusal(face.run({ argv: ['pwd'], cwd }))).code);
    }
    const invalid = 'INVALID_PATH';
    expect(codes).toEqual(['CAPABILITY_DENIED', invalid, invalid, invalid, invalid, invalid, invalid]);
    expect(await kernel.processes.children(pid)).toEqual([]);
  });

  it('is stopped when its time is over', async () => {
    const { kernel, store, face } = await commandFixture();
    const result = await face.run({ argv: ['sleep', '600'], timeoutMs: 200 });
    expect(result).toMatchObject({ exitCode: null, signal: 'SIGTERM', timedOut: true });
    expect((await kernel.processes.get(result.pid)).outcome).toEqual({
      kind: 'timed_out',
      by: 'kernel',
      exitCode: null,
      signal: 'SIGTERM',
    });
    await checkInvariants(kernel, store);
  });

  it('ends with its leader, whoever still holds what it writes to', async () => {
    const { face } = await commandFixture();
    const { stdout, durationMs } = await face.run({ argv: sh('sleep 600 & echo done') });
    expect(stdout).toBe('done\n');
    // The one that holds it would go on for twice as long.
    expect(durationMs).toBeLessThan(300_000);
  });

  it('cannot be spawned by the name of its image, nor with what is no command', async () => {
    const { kernel, pid, face } = await commandFixture();
    expect((await refusal(kernel.processes.spawn({ image: 'command' }))).code).toBe('NO_SUCH_IMAGE');
    const bad = [{ argv: [] }, { argv: [''] }, { argv: ['a\0'] }, { argv: ['a*'] }, { argv: 'true' }, { argv: ['..'] }];
    for (const spec of bad) expect((await refusal(face.run(spec as never))).code).toBe('INVALID_INPUT');
    for (const more of [{ shell: true }, { env: { 'a b': 'x' } }, { envMode: 'all' }, { timeoutMs: -1 }]) {
      expect((await refusal(face.run({ argv: ['true'], ...more } as never))).code).toBe('INVALID_INPUT');
    }
    expect(await kernel.processes.children(pid)).toEqual([]);
  });
});

describe('the environment of a command', () => {
  it('is a clean one with what its process was spawned with and what is given', async () => {
    process.env.PROCURA_TEST_SECRET = 'of the kernel';
    try {
      const { kernel, face } = await commandFixture({
        env: { OF_PROCESS: 'p', BOTH: 'p' },
        capabilities: [anyCommand, { resource: 'secret:**', rights: ['read'] }],
      });
      const of = async (spec: object) => {
        const { stdout } = await face.run({ argv: ['/usr/bin/env'], ...spec });
        const lines = stdout.trimEnd().split('\n');
        return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2))) as Record<string, string>;
      };
      const clean = await of({ env: { BOTH: 'given' } });
      expect(clean).toMatchObject({ OF_PROCESS: 'p', BOTH: 'given', PATH: process.env.PATH });
      expect(clean.PROCURA_TEST_SECRET).toBeUndefined();
      const patched = await of({ envMode: 'patch', env: { HOME: '/elsewhere' } });
      expect(patched).toMatchObject({ PROCURA_TEST_SECRET: 'of the kernel', OF_PROCESS: 'p', HOME: '/elsewhere' });
      const { PROCURA_TOKEN: token, ...replaced } = await of({ envMode: 'replace', env: { ONLY: 'this' } });
      expect(replaced).toEqual({ ONLY: 'this' });
      expect(token).toMatch(/[0-9a-f]{32}$/);
      await kernel.shutdown();
    } finally {
      delete process.env.PROCURA_TEST_SECRET;
    }
  });
});

describe('the output of a command', () => {
  it('lies in files that only their owner can read, and goes with the row', async () => {
    const { kernel, face, pid } = await commandFixture();
    const { outputFile, errorFile } = await face.run({ argv: sh('echo kept') });
    expect(statSync(path.dirname(outputFile)).mode & 0o777).toBe(0o700);
    expect([outputFile, errorFile].map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);
    await kernel.processes.spawnChild(pid, {});
    const { pruned } = await kernel.processes.prune({ endedBefore: Number.MAX_SAFE_INTEGER });
    expect(pruned).toBe(1);
    expect([outputFile, errorFile].map((file) => statSync(file, { throwIfNoEntry: false }))).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('of a kernel in memory is gone with the kernel', async () => {
    const { kernel, face } = await commandFixture({}, { store: ':memory:' });
    const { outputFile } = await face.run({ argv: sh('echo short-lived') });
    expect(statSync(outputFile).size).toBe(12);
    await kernel.shutdown();
    expect(statSync(path.dirname(outputFile), { throwIfNoEntry: false })).toBeUndefined();
  });
});
