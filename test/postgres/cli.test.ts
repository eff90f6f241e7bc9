import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createKernel, migrateStore } from '../../src/index.js';
import { builtPackage } from '../support/built-package.js';
import { startMcp } from '../support/cli/mcp-command.js';
import { type CliRun, refusalOf, runCli } from '../support/cli/run-cli.js';
import { fullStoreOptions, makeFullStore } from '../support/full-store.js';
import { ask } from '../support/integrations/mcp-client.js';
import { openKernel, tempFolder } from '../support/kernel.js';
import { newSchema } from '../support/storage/new-schema.js';
import { rawSql } from '../support/storage/raw-sql.js';

beforeAll(() => builtPackage(), 600_000);

/** Commands by what they are given; the name of an entry is the command. `$name` stands for an id. */
const looking: Readonly<Record<string, readonly string[][]>> = {
  ps: [['--full'], ['--label', 'team=a', '--json']],
  tree: [[], ['$lead', '--json']],
  show: [['$lead'], ['$waiting', '--json']],
  transcript: [['$chat']],
  journal: [['$waiting', '--values']],
  logs: [['$failed'], ['$command']],
  approvals: [['--status', 'any', '--full', '--json']],
  approval: [['$approval']],
  questions: [['--status', 'any']],
  rules: [['$lead', '--all', '--json']],
  events: [['--tree', '$lead', '--json', '--after', '3']],
  audit: [
    ['--decision', 'allow', '--json'],
    ['--target', '$lead', '--limit', '3'],
  ],
  lineage: [['$lead', '--json']],
  explain: [
    ['$lead', 'call', 'tool:rm'],
    ['$editor', 'call', 'tool:edit', '--json'],
  ],
  verify: [[]],
  export: [['--payloads']],
};

/** In an order in which each finds what it needs. */
const changing: readonly (readonly string[])[] = [
  ['send', '$waiting', '{"hello":1}', '--json'],
  ['signal', '$lead', 'user.tock', '--reason', 'time'],
  ['resume', '$paused'],
  ['pause', '$paused', '--json'],
  ['cancel', '$stopping'],
  ['kill', '$talking'],
  ['retry', '$waiting'],
  ['answer', '$approval', 'once', '--by', 'ann'],
  ['answer', '$question', 'green', '--by', 'ann'],
  ['deny', '$lead', 'tool:**', 'call', '--id', 'rule-1', '--reason', 'no tools'],
  ['ask', '$lead', 'model:**', 'call', '--json'],
  ['rules', '$lead'],
  ['lift', '$rule'],
  ['grant', '$lead', 'tool:extra', 'call', '--delegable', '--uses', '2'],
  ['revoke', '$capability'],
  ['prune', '--ended-before', '2100-01-01'],
  ['checkpoint'],
  ['verify'],
  ['ps'],
];

/** Ids by the names that the commands above use. */
async function idsIn(store: string): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  const find = async (text: string) =>
    (await rawSql<{ name: string; id: string }>(store, text)).forEach(({ name, id }) => {
      ids[name] ??= id;
    });
  await find(
    "SELECT name, pid AS id FROM processes WHERE name IN ('lead', 'waiting', 'paused', 'stopping', 'talking')",
  );
  await find("SELECT 'chat' AS name, pid AS id FROM processes WHERE image = 'chat@1'");
  await find("SELECT 'failed' AS name, pid AS id FROM processes WHERE image = 'fails@1'");
  await find("SELECT 'command' AS name, pid AS id FROM processes WHERE kind = 'command'");
  await find("SELECT 'editor' AS name, pid AS id FROM effects");
  await find("SELECT 'approval' AS name, id FROM approvals WHERE decision IS NULL");
  await find("SELECT 'question' AS name, id FROM questions");
  await find("SELECT 'rule' AS name, id FROM rules");
  await find("SELECT 'capability' AS name, id FROM capabilities WHERE resource = 'tool:search' AND depth = 0");
  return ids;
}

function withIds(args: readonly string[], ids: Readonly<Record<string, string>>): string[] {
  return args.map((text) => {
    if (!text.startsWith('$')) return text;
    const id = ids[text.slice(1)];
    if (id === undefined) throw new Error(`there is no ${text}`);
    return id;
  });
}

/** What a command that looks has printed, without ages and the time that processes have lived for. */
function withoutAges({ exitCode, stdout, stderr }: CliRun): CliRun {
  const plain = stdout
    .replaceAll(/\b\d+[smhd]\b/g, 'AGE')
    .replaceAll(/(wallMs +(?:-|\d+) +)\d+/g, '$1AGE')
    .replaceAll(/("wallMs": \{[^}]*"used": )\d+/g, '$1AGE')
    .replaceAll(/ +/g, ' ');
  return { exitCode, stderr, stdout: plain };
}

/** What a command that changes something has printed, also without new ids, times, hashes and signatures. */
function withoutIds(run: CliRun): CliRun {
  const { exitCode, stdout, stderr } = withoutAges(run);
  const plain = stdout
    .replaceAll(/\b[0-9a-f]{64,}\b/g, 'HASH')
    .replaceAll(/\b([a-z])_[0-9a-z]{20}\b/g, '$1_ID')
    .replaceAll(/\b[0-9a-z]{8}\b/g, 'SHORT')
    .replaceAll(/\b1\d{12}\b/g, 'TIME');
  return { exitCode, stderr, stdout: plain };
}

/** The same store on both kinds, and the ids in it. */
async function bothStores() {
  const { store } = await makeFullStore();
  const moved = await newSchema('moved');
  await migrateStore({ from: store, to: moved });
  const ids = await idsIn(store);
  const runOnBoth = async (args: readonly string[]) => {
    const given = withIds(args, ids);
    const onFile = await runCli([...given, '--store', store]);
    return { args: given.join(' '), onFile, onServer: await runCli([...given, '--store', moved]) };
  };
  return { runOnBoth };
}

describe('on PostgreSQL as on SQLite', () => {
  it('commands that look print the same', { timeout: 400_000 }, async () => {
    const { runOnBoth } = await bothStores();
    for (const [name, variants] of Object.entries(looking)) {
      for (const variant of variants) {
        const { args, onFile, onServer } = await runOnBoth([name, ...variant]);
        expect.soft(withoutAges(onServer), args).toEqual(withoutAges(onFile));
        expect.soft(onFile, args).toMatchObject({ exitCode: 0, stderr: '' });
      }
    }
  });

  it('commands that change something do and print the same', { timeout: 400_000 }, async () => {
    const { runOnBoth } = await bothStores();
    for (const command of changing) {
      const { args, onFile, onServer } = await runOnBoth(command);
      expect.soft(withoutIds(onServer), args).toEqual(withoutIds(onFile));
      // Retrying is for processes that wait for code, of which there are none.
      expect.soft(onFile.exitCode, `${args}: ${onFile.stderr}`).toBe(command[0] === 'retry' ? 1 : 0);
    }
  });

  it('no command is left out', async () => {
    const { stdout } = await runCli(['help']);
    const known = [...stdout.matchAll(/^ {2}([a-z]+) .*/gm)].map(([, name = '']) => name);
    const tried = new Set([...Object.keys(looking), ...changing.map(([name = '']) => name), 'mcp', 'migrate', 'help']);
    expect(known.length).toBeGreaterThan(30);
    expect(known.filter((name) => !tried.has(name))).toEqual([]);
  });
});

describe('what PostgreSQL has no file for', () => {
  it('is refused with what to do instead, and nothing is pruned', async () => {
    const store = await newSchema('moved');
    const kernel = await openKernel({ store, node: { executor: false } });
    await kernel.processes.exit(await kernel.processes.spawn());
    await kernel.shutdown();
    const ran = await runCli(['prune', '--ended-before', '2100-01-01', '--compact', '--store', store]);
    expect(refusalOf(ran)).toEqual({ exitCode: 1, code: 'STORE_UNSUPPORTED' });
    expect(ran.stderr).toContain('VACUUM');
    expect(JSON.parse((await runCli(['ps', '--json', '--store', store])).stdout)).toHaveLength(1);
  });
});

describe('a schema that is not there', () => {
  it('is made by no command, and its password is told by none', async () => {
    const store = await newSchema('missing');
    const { password } = new URL(store);
    for (const args of [...Object.keys(looking).map((name) => [name, ...(looking[name]?.[0] ?? [])]), ...changing]) {
      const ran = await runCli([
        ...args.map((text) => text.replace(/^\$\w+$/, 'p_00000000000000000000')),
        '--store',
        store,
      ]);
      expect(refusalOf(ran), args.join(' ')).toEqual({ exitCode: 1, code: 'NO_SUCH_STORE' });
      expect(ran.stderr).not.toContain(`${password}@`);
    }
    expect(await rawSql(store, "SELECT 1 AS it FROM pg_namespace WHERE nspname = 'missing'")).toEqual([]);
  });
});

describe('mcp', () => {
  it('is a process of a store on PostgreSQL, and runs images there', async () => {
    const store = await newSchema('agents');
    await (await createKernel({ ...fullStoreOptions, store, node: { executor: false } })).shutdown();
    const file = join(tempFolder(), 'images.mjs');
    const index = join(await builtPackage(), 'dist', 'index.js');
    writeFileSync(
      file,
      `import { defineImage } from ${JSON.stringify(index)};
       export const images = [defineImage({ name: 'worker', run: async () => 'done' })];`,
    );
    const spec = JSON.stringify({ name: 'client', budget: { children: 2 } });
    const { client } = await startMcp(store, '--spawn', spec, '--images', file, '--run');
    const { value } = await ask(client, 'spawn', { image: 'worker' });
    expect((await ask(client, 'wait', { pid: value.pid as string })).value).toMatchObject({
      status: 'exited',
      value: 'done',
    });
  });
});
