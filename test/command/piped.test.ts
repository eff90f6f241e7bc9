import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PipedCommands } from '../../src/command/drive/piped-commands.js';
import { commandFixture, findOsProcesses, uniqueSeconds } from '../support/command-fixture.js';
import { eventually } from '../support/eventually.js';
import { checkInvariants } from '../support/invariants.js';
import { refusal } from '../support/kernel.js';

describe('a program of the host that is talked to', () => {
  it('is a root command with pipes, and what it says to nobody is in its error file', async () => {
    const { kernel, store, workspace } = await commandFixture();
    const programs = kernel.container.get(PipedCommands);
    const script = 'echo "started in $(pwd) with $X" >&2; while read -r line; do echo "got $line"; done';
    const program = await programs.start({ name: 'echoer', argv: ['sh', '-c', script], env: { X: '1' } });
    program.stdin.write('one\n');
    const [answer] = (await once(program.stdout, 'data')) as [Buffer];
    expect(String(answer)).toBe('got one\n');
    const record = await kernel.processes.get(program.pid);
    expect(record).toMatchObject({ kind: 'command', parent: null, name: 'echoer', status: 'running' });
    await eventually(() =>
      expect(readFileSync(record.command?.errorFile ?? '', 'utf8')).toBe(`started in ${workspace} with 1\n`),
    );
    program.stdin.end();
    expect(await program.ended).toMatchObject({ status: 'exited', outcome: { kind: 'completed', exitCode: 0 } });
    await checkInvariants(kernel, store);
  });

  it('is stopped with everything that it has started', async () => {
    const { kernel } = await commandFixture();
    const programs = kernel.container.get(PipedCommands);
    const seconds = uniqueSeconds();
    const script = `trap '' TERM; (trap '' TERM; setsid sleep ${seconds}) & echo up; sleep ${seconds}; :`;
    const program = await programs.start({ name: 'stubborn', argv: ['sh', '-c', script] });
    await once(program.stdout, 'data');
    await programs.stop(program, 'closed');
    expect((await program.ended).outcome).toMatchObject({ kind: 'cancelled', reason: 'closed' });
    expect(findOsProcesses(seconds)).toEqual([]);
    await programs.stop(program, 'again');
  });

  it('that cannot be started says why', async () => {
    const { kernel } = await commandFixture();
    const programs = kernel.container.get(PipedCommands);
    expect(await refusal(programs.start({ name: 'x', argv: ['no-such-program'] }))).toMatchObject({
      code: 'TOOL_FAILED',
      facts: { errno: 'ENOENT' },
    });
    expect((await refusal(programs.start({ name: 'x', argv: ['true'], cwd: 'missing' }))).code).toBe('TOOL_FAILED');
    expect((await refusal(programs.start({ name: 'x', argv: [] }))).code).toBe('INVALID_INPUT');
  });
});
