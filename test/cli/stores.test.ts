import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtPackage } from '../support/built-package.js';
import { refusalOf, runBuiltCli, runCli } from '../support/cli/run-cli.js';
import { openTeam, type Team } from '../support/cli/team.js';

let team: Team;

beforeAll(async () => {
  team = await openTeam();
  await builtPackage();
});
afterAll(() => team?.close());

const commands: readonly (readonly string[])[] = [
  ['ps'],
  ['tree'],
  ['show', 'p_1'],
  ['signal', 'p_1', 'kill'],
  ['cancel', 'p_1'],
  ['approvals'],
  ['approval', 'v_1'],
  ['answer', 'v_1', 'once'],
  ['rules'],
  ['deny', '*', 'tool:x', 'call'],
  ['ask', '*', 'tool:x', 'call'],
  ['lift', 'u_1'],
  ['grant', 'p_1', 'tool:x', 'call'],
  ['revoke', 'c_1'],
  ['events'],
  ['audit'],
  ['lineage', 'p_1'],
  ['explain', 'p_1', 'call', 'tool:x'],
  ['verify'],
  ['export'],
  ['checkpoint'],
  ['migrate', '--to', 'moved.db'],
  ['mcp', '--pid', 'p_1'],
];

describe('the database that a command names', () => {
  it.each(commands)('is not created by %s when it is missing', async (...command) => {
    const store = path.join(team.folder, 'missing.db');
    const ran = await runCli([...command.filter((part) => part !== undefined), '--store', store]);
    expect(refusalOf(ran)).toEqual({ exitCode: 1, code: 'NO_SUCH_STORE' });
    expect(existsSync(store)).toBe(false);
  });

  it('is left alone when it is empty, no database, or of another program', async () => {
    const empty = path.join(team.folder, 'empty.db');
    writeFileSync(empty, '');
    const text = path.join(team.folder, 'notes.txt');
    writeFileSync(text, 'not a database, but longer than the header of one would be: '.repeat(4));
    const foreign = path.join(team.folder, 'foreign.db');
    new Database(foreign).exec('CREATE TABLE theirs (id INTEGER)').close();
    const before = [empty, text, foreign].map((file) => readFileSync(file, 'hex'));
    const codes = [];
    for (const store of [empty, text, foreign]) codes.push(refusalOf(await runCli(['checkpoint', '--store', store])));
    expect(codes.map(({ code }) => code)).toEqual(['NO_SUCH_STORE', 'STORE_FOREIGN', 'STORE_FOREIGN']);
    expect([empty, text, foreign].map((file) => readFileSync(file, 'hex'))).toEqual(before);
  });

  it('comes from PROCURA_STORE, and may be named before the command', async () => {
    const fromEnvironment = await runBuiltCli(['ps', '--json'], { PROCURA_STORE: team.store });
    const before = await runCli(['--store', team.store, 'ps', '--json']);
    expect(JSON.parse(fromEnvironment.stdout)).toEqual(JSON.parse(before.stdout));
  });

  it('is not touched by commands that look', async () => {
    const head = async () => (await team.kernel.events.list({ limit: 10_000 })).items.length;
    const before = await head();
    for (const command of [['ps'], ['tree'], ['approvals'], ['rules'], ['verify'], ['export']]) {
      await runCli([...command, '--store', team.store]);
    }
    expect(await head()).toBe(before);
  });
});

describe('a log that was tampered with', () => {
  it('can still be looked at, is found broken, and is not written to', async () => {
    const broken = path.join(team.folder, 'broken.db');
    await team.kernel.audit.checkpoint();
    const raw = new Database(team.store);
    await raw.backup(broken);
    raw.close();
    new Database(broken).exec(`UPDATE audit_records SET body = replace(body, 'host', 'h0st') WHERE seq = 2`).close();
    expect((await runCli(['tree', '--store', broken])).stdout).toContain('planner');
    const verified = await runCli(['verify', '--store', broken]);
    expect(verified).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(/^BROKEN EDITED at record 2: /) });
    const exported = path.join(team.folder, 'broken.jsonl');
    await runCli(['export', '--out', exported, '--store', broken]);
    expect((await runBuiltCli(['verify', exported])).stdout).toMatch(/^BROKEN EDITED at record 2: /);
  });
});

describe('the command itself', () => {
  it('tells its commands and its version without a database', async () => {
    const help = await runBuiltCli(['--help']);
    for (const [name = ''] of commands) expect(help.stdout).toContain(`\n  ${name} `);
    expect((await runBuiltCli(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await runCli(['help', 'ps'])).stdout).toContain('--label');
  });

  it('refuses a command that there is not, and none at all', async () => {
    expect(refusalOf(await runCli(['pz']))).toEqual({ exitCode: 2, code: 'USAGE' });
    expect(refusalOf(await runCli([]))).toEqual({ exitCode: 2, code: 'USAGE' });
  });
});

describe('text that users wrote', () => {
  it('cannot move the cursor, turn the line or flood the terminal', async () => {
    const nasty = `\u001b[2Jred\u202egnp.exe\nline${'x'.repeat(5_000)}`;
    const child = await team.kernel.processes.spawnChild(team.planner);
    await team.kernel.processes.kill(child, nasty.slice(0, 4_000));
    for (const args of [['show', child], ['show', child, '--json'], ['audit'], ['audit', '--json']]) {
      const { stdout } = await runCli([...args, '--store', team.store]);
      expect(stdout).toMatch(/red\\+u\{?202e/);
      expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }
    const { stdout } = await runCli(['show', child, '--store', team.store]);
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThan(600);
  });

  it('has no colours in a pipe, also where colours are usual', async () => {
    const { stdout } = await runBuiltCli(['ps', '--store', team.store], { CI: 'true', TERM: 'xterm-256color' });
    expect(stdout).not.toContain('\u001b');
  });
});
