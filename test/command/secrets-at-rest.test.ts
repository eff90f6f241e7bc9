import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { anyCommand, commandFixture } from '../support/command-fixture.js';
import { newStore, openKernel } from '../support/kernel.js';

const secret = 'hunter2-5f0d9c1ba7';

/** The files beside the store that contain a text; the output of commands is theirs. */
function filesWith(store: string, text: string): string[] {
  const folder = path.dirname(store);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files
    .map(({ parentPath, name }) => path.join(parentPath, name))
    .filter((file) => !file.includes('output') && readFileSync(file).includes(text));
}

describe('a secret in a command line', () => {
  const commands = [
    ['sh', '-c', `: curl -H "Authorization: Basic ${secret}" https://x`],
    ['sh', '-c', `: curl -H 'Cookie: a=${secret}; b=c' https://x`],
    ['sh', '-c', `: -H "Authorization: Digest username=\\"bob\\", response=\\"${secret}\\""`],
    ['sh', '-c', ':', '--', '--password', secret],
    ['sh', '-c', ':', `--password ${secret} and more`],
    ['sh', '-c', ':', '-u', `bob:${secret}`],
    ['env', `API_TOKEN=${secret}`, 'true'],
  ];

  it('is not in the database, approvals, events or records, whether it ran, was refused or approved', async () => {
    const { kernel, store, pid, face } = await commandFixture({
      capabilities: [anyCommand, { resource: 'tool:command.run', rights: ['call'] }],
    });
    for (const argv of commands) {
      expect((await face.run({ argv })).exitCode).toBe(0);
      expect(await face.tools.call('command.run', { argv })).toMatchObject({ exitCode: 0 });
    }
    const rule = await kernel.capabilities.ask(pid, { resource: 'command:**', rights: ['call'] });
    for (const argv of commands) {
      const running = face.run({ argv });
      await expect.poll(async () => (await kernel.approvals.list({ pid })).length).toBe(1);
      const [approval] = await kernel.approvals.list({ pid });
      expect(JSON.stringify(approval)).not.toContain(secret);
      await kernel.approvals.answer(approval?.id ?? '', { decision: 'once', by: 'ann' });
      expect((await running).exitCode).toBe(0);
    }
    await kernel.capabilities.lift(rule.id);
    await kernel.capabilities.deny(pid, { resource: 'command:**', rights: ['call'] });
    for (const argv of commands) {
      const error = await face.run({ argv }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'CAPABILITY_DENIED' });
      expect(JSON.stringify(error)).not.toContain(secret);
    }
    let exported = '';
    for await (const line of kernel.audit.export({ payloads: true })) exported += line;
    expect(exported).not.toContain(secret);
    expect(JSON.stringify(await kernel.events.list({ limit: 500 }))).not.toContain(secret);
    expect(JSON.stringify(await kernel.processes.list({}))).not.toContain(secret);
    expect(filesWith(store, secret)).toEqual([]);
    await kernel.shutdown();
    expect(filesWith(store, secret)).toEqual([]);
  });
});

describe('the store', () => {
  const modesOf = (store: string) =>
    [store, `${store}-wal`, `${store}-shm`].map((file) => (statSync(file).mode & 0o777).toString(8));

  it('is a file that only its owner may read, from the beginning', async () => {
    const before = process.umask(0);
    try {
      const store = await newStore();
      const kernel = await openKernel({ store });
      await kernel.processes.spawn({});
      expect(modesOf(store)).toEqual(['600', '600', '600']);
    } finally {
      process.umask(before);
    }
  });

  it('that others may read is closed to them when it is opened for writing', async () => {
    const store = await newStore();
    await (await openKernel({ store })).shutdown();
    chmodSync(store, 0o664);
    const reader = await openKernel({ store, readOnly: true });
    expect((statSync(store).mode & 0o777).toString(8)).toBe('664');
    await reader.shutdown();
    await openKernel({ store });
    expect(modesOf(store)).toEqual(['600', '600', '600']);
  });

  it('is not made by opening it to read', async () => {
    const store = await newStore();
    await expect(openKernel({ store, readOnly: true })).rejects.toMatchObject({ code: 'STORE_IO' });
    expect(existsSync(store)).toBe(false);
  });
});

describe('the environment of a process', () => {
  const env = { API_TOKEN: secret, PLAIN: `plain-${secret}` };

  it('is removed when the last process that was spawned with it is pruned', async () => {
    const { kernel, store } = await commandFixture();
    const first = await kernel.processes.spawn({ env });
    const second = await kernel.processes.spawn({ env, capabilities: [anyCommand] });
    const other = await kernel.processes.spawn({ env: { OTHER: 'kept-value-8841' } });
    expect(filesWith(store, secret)).not.toEqual([]);
    await kernel.processes.exit(first);
    const prune = () => kernel.processes.prune({ endedBefore: Number.MAX_SAFE_INTEGER });
    expect(await prune()).toEqual({ pruned: 1 });
    const { stdout } = await kernel.as(second).run({ argv: ['sh', '-c', 'printf %s "$API_TOKEN" | wc -c'] });
    expect(stdout.trim()).toBe(String(secret.length));
    await kernel.processes.exit(second);
    await kernel.processes.spawn({});
    await prune();
    expect((await kernel.processes.get(other)).status).toBe('created');
    await kernel.shutdown();
    expect(filesWith(store, secret)).toEqual([]);
    expect(filesWith(store, 'kept-value-8841')).toEqual([store]);
  });

  it('is in no export, event or record of a process', async () => {
    const { kernel, pid } = await commandFixture({ env });
    await kernel.as(pid).run({ argv: ['true'], env: { SIGNING_KEY: secret } });
    await kernel.processes.spawnChild(pid, { env });
    let shown = '';
    for await (const line of kernel.audit.export({ payloads: true })) shown += line;
    shown += JSON.stringify([
      await kernel.processes.get(pid),
      await kernel.processes.list({}),
      await kernel.processes.tree(pid),
      await kernel.events.list({ limit: 500 }),
      await kernel.audit.list({}),
      await kernel.audit.lineage(pid),
    ]);
    expect(shown).not.toContain(secret);
  });
});
