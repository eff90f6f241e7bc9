import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { testTeam } from '../../support/crash/agent-team.js';
import { eventually } from '../../support/eventually.js';
import { tempFolder } from '../../support/kernel.js';

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const program = pathOf('agent-program.ts');

it('an agent of Mastra whose program is killed after its second effect goes on, and does nothing twice', async () => {
  const folder = tempFolder();
  const [store, log] = [join(folder, 'agents.db'), join(folder, 'lines.txt')];
  const start = (...args: string[]) => {
    const child = spawn(process.execPath, ['--import', 'tsx', program, store, log, ...args]);
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  };
  const lines = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
  const killed = start('2');
  await eventually(() => expect(lines()).toContain('ask 2'));
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  const second = start();
  let output = '';
  for (const stream of [second.stdout, second.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  await once(second, 'close');
  // Three turns of fifteen tokens: the one that was cut off is paid once.
  expect(output).toContain('result {"value":"all noted","tokens":45}');
  expect(lines()).toEqual(['ask 0', 'note one', 'ask 1', 'note two', 'ask 2', 'ask 2']);
});

describe('a team of Mastra agents in a program that is killed', () => {
  testTeam('mastra', () => ['--import', 'tsx', pathOf('team-program.ts')]);
});
