import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { createKernel } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { type MessagesRequest, MessagesServer, type MessagesTurn } from './messages-server.js';

const program = fileURLToPath(new URL('session-program.ts', import.meta.url));

it('a session whose program is killed after its second effect goes on, and does nothing twice', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'procura-claude-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  let isSilent = true;
  const asked: number[] = [];
  const server = new MessagesServer((request) => {
    const turn = resultsOf(request);
    asked.push(turn);
    if (turn === 2 && isSilent) return undefined;
    return turns[turn] ?? 'no turn is left';
  });
  const url = await server.listen();
  onTestFinished(() => server.close());
  const start = (...args: string[]) => {
    const paths = [join(folder, 'session.db'), folder, join(folder, 'home'), url];
    const child = spawn(process.execPath, ['--import', 'tsx', program, ...paths, ...args]);
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  };
  const killed = start();
  await eventually(() => expect(asked).toEqual([0, 1, 2]));
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  isSilent = false;
  const second = start('again');
  let output = '';
  for (const stream of [second.stdout, second.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  await once(second, 'close');
  expect(output).toContain('result all made');
  expect(readFileSync(join(folder, 'made.txt'), 'utf8')).toBe('one\ntwo\n');
  const kernel = await createKernel({ logger: 'silent', store: join(folder, 'session.db'), node: { executor: false } });
  onTestFinished(async () => void (await kernel.shutdown()));
  const records = (await kernel.audit.list({ action: 'tool.call' })).items;
  expect(records.map(({ outcome }) => outcome)).toEqual(['intent', 'ok', 'intent', 'ok']);
  expect(asked.filter((turn) => turn < 2)).toEqual([0, 1]);
});

const make = (line: string): MessagesTurn => ({
  calls: [['Bash', { command: `echo ${line} >> made.txt`, description: 'Makes a line' }]],
});
const turns: readonly MessagesTurn[] = [make('one'), make('two'), 'all made'];

/** The number of results of tools in the conversation. */
function resultsOf({ messages }: MessagesRequest): number {
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  return blocks.filter(({ type }) => type === 'tool_result').length;
}
