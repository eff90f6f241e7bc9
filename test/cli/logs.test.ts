import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtPackage } from '../support/built-package.js';
import { refusalOf, runBuiltCli, runCli, startCli } from '../support/cli/run-cli.js';
import { openTeam, type Team } from '../support/cli/team.js';

let team: Team;
const run = (...args: string[]) => runCli([...args, '--store', team.store]);
/** Runs the built command on the team's store. */
const runBuilt = (...args: string[]) => runBuiltCli([...args, '--store', team.store]);
const jsonLines = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

beforeAll(async () => {
  team = await openTeam();
  await builtPackage();
});
afterAll(() => team?.close());

describe('events', () => {
  it('prints the log of one process as JSON lines', async () => {
    const events = jsonLines((await run('events', '--pid', team.researcher, '--json')).stdout);
    expect(events.map(({ type }) => type)).toEqual(['process.spawned', 'budget.charged']);
  });

  it('follows what a running kernel commits until it is interrupted', async () => {
    const { items } = await team.kernel.events.list({ limit: 10_000 });
    const after = String(items.at(-1)?.seq ?? 0);
    const child = await startCli(['events', '--follow', '--json', '--after', after, '--store', team.store]);
    const firstLine = new Promise<string>((resolve) => child.stdout?.once('data', (chunk) => resolve(String(chunk))));
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const born = await team.kernel.processes.spawnChild(team.planner);
    expect(jsonLines(await firstLine)[0]).toMatchObject({ type: 'process.spawned', pid: born });
    child.kill('SIGINT');
    expect(await ended).toBe(0);
  });

  it('refuses a process that there is not, and a cursor that is no number', async () => {
    expect(refusalOf(await run('events', '--pid', 'p_nobody'))).toEqual({ exitCode: 1, code: 'NO_SUCH_PROCESS' });
    expect(refusalOf(await run('events', '--after', 'x'))).toEqual({ exitCode: 2, code: 'USAGE' });
  });
});

describe('audit', () => {
  it('prints who did what, filtered by actor and action', async () => {
    const records = jsonLines((await run('audit', '--actor', team.researcher.slice(-10), '--json')).stdout);
    expect(records.map(({ action, outcome }) => ({ action, outcome }))).toEqual([
      { action: 'budget.charge', outcome: 'ok' },
    ]);
    const { stdout } = await run('audit', '--actor', 'host', '--action', 'process.spawn', '--limit', '1');
    expect(stdout).toMatch(new RegExp(`process.spawn ${team.planner} →created ok by host\\n$`));
  });

  it('refuses an outcome that there is not', async () => {
    expect(refusalOf(await run('audit', '--outcome', 'perhaps'))).toEqual({ exitCode: 1, code: 'INVALID_INPUT' });
  });
});

describe('checkpoint, export and verify', () => {
  it('sign the log, write it out, and check it in the database and outside', async () => {
    const signed = JSON.parse((await run('checkpoint', '--json')).stdout) as { root: string; key: string };
    const file = path.join(team.folder, 'export.jsonl');
    expect((await run('export', '--payloads', '--out', file)).exitCode).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain(signed.root);
    expect((await runBuilt('verify')).stdout).toMatch(/^OK \d+ of \d+ records checked, root [0-9a-f]{64}\n$/);
    expect((await runBuiltCli(['verify', file])).stdout).toMatch(/^OK log l_.+ records, \d+ checkpoints, root /);
    const [manifest] = jsonLines(readFileSync(file, 'utf8'));
    const [{ publicKey = '' } = {}] = (manifest?.keys ?? []) as { publicKey?: string }[];
    expect((await runBuilt('verify', '--key', publicKey)).exitCode).toBe(0);
    expect((await runBuiltCli(['verify', file, '--key', publicKey])).exitCode).toBe(0);
  });

  it('print the export on standard output too', async () => {
    const lines = jsonLines((await run('export')).stdout);
    expect(lines[0]).toMatchObject({ kind: 'manifest', version: 1, payloads: false });
  });

  it('answer with exit code 1 for an export that was changed, and for another key', async () => {
    const file = path.join(team.folder, 'changed.jsonl');
    await run('export', '--out', file);
    const other = await otherKey();
    expect((await runBuiltCli(['verify', file, '--key', other])).exitCode).toBe(1);
    writeFileSync(file, readFileSync(file, 'utf8').replace('process.spawn', 'process.spawm'));
    const { exitCode, stdout } = await runBuiltCli(['verify', file]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: expect.stringMatching(/^BROKEN EDITED at record \d/) });
  });

  it('refuse a file that there is not, and a place that cannot be written', async () => {
    const missing = path.join(team.folder, 'no', 'file');
    expect(refusalOf(await runBuiltCli(['verify', missing]))).toEqual({ exitCode: 1, code: 'NO_SUCH_FILE' });
    expect(refusalOf(await run('export', '--out', missing))).toEqual({ exitCode: 1, code: 'EXPORT_FAILED' });
    expect(refusalOf(await runBuiltCli(['verify', team.store]))).toEqual({ exitCode: 1, code: 'NOT_AN_EXPORT' });
  });
});

async function otherKey(): Promise<string> {
  const { generateKeyPairSync } = await import('node:crypto');
  return generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
}
