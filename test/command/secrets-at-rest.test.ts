import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { anyCommand, commandFixture } from '../support/command-fixture.js';

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
