import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CapabilitySpec, Kernel, Pid } from '../../../src/index.js';
import { refusal, tempFolder } from '../../support/kernel.js';
import { findInconsistencies } from '../../support/store-consistency.js';
import { mcpFixture, npmServer, toPlain } from '../../support/tools/mcp-servers.js';

const readNotes: CapabilitySpec = {
  resource: 'tool:mcp/fs/read_text_file',
  rights: ['call'],
  constraints: { path: { path: 'notes/**' } },
};

describe('a tool of an MCP server', () => {
  it('works for a process that was granted it, and no other tool of the server does', async () => {
    const { kernel, pid, notes } = await withFiles([{ resource: 'tool:mcp/fs/read_text_file', rights: ['call'] }]);
    const { tools } = kernel.as(pid);
    expect(toPlain(await tools.call('mcp/fs/read_text_file', { path: join(notes, 'a.txt') }))).toEqual({
      content: 'alpha',
    });
    const write = tools.call('mcp/fs/write_file', { path: join(notes, 'b.txt'), content: 'beta' });
    expect(await refusal(write)).toMatchObject({
      code: 'CAPABILITY_DENIED',
      facts: { pid, right: 'call', resource: 'tool:mcp/fs/write_file', code: 'NO_CAPABILITY' },
    });
    const explained = await kernel.capabilities.explain(pid, 'call', 'tool:mcp/fs/write_file');
    expect(explained).toMatchObject({ effect: 'deny', code: 'NO_CAPABILITY' });
    expect(explained.hint).toContain(`grant('${pid}'`);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('takes only the paths that the capability allows', async () => {
    const { kernel, pid, workspace, notes } = await withFiles([readNotes]);
    const read = (path: string) => kernel.as(pid).tools.call('mcp/fs/read_text_file', { path });
    expect(toPlain(await read(join(notes, 'a.txt')))).toEqual({ content: 'alpha' });
    for (const path of [
      join(workspace, 'secret.txt'),
      `${notes}/../secret.txt`,
      `${notes}//a.txt`,
      join(workspace, 'notes2', 'a.txt'),
      '/etc/passwd',
    ]) {
      expect(await refusal(read(path))).toMatchObject({
        code: 'CAPABILITY_DENIED',
        facts: { code: 'CONSTRAINT', nearest: [{ pattern: 'tool:mcp/fs/read_text_file' }] },
      });
    }
  });

  it('is handed on within the same bounds, and never wider', async () => {
    const { kernel, pid, workspace, notes } = await withFiles([{ ...readNotes, delegable: true }]);
    const child = await kernel.processes.spawnChild(pid, {
      delegate: [{ ...readNotes, constraints: { path: { path: 'notes/a.txt' } } }],
    });
    const read = (path: string) => kernel.as(child).tools.call('mcp/fs/read_text_file', { path });
    expect(toPlain(await read(join(notes, 'a.txt')))).toEqual({ content: 'alpha' });
    expect(await refusal(read(join(notes, 'c.txt')))).toMatchObject({ code: 'CAPABILITY_DENIED' });
    const wider = { ...readNotes, constraints: { path: { path: '**' } } };
    expect(await refusal(kernel.processes.spawnChild(pid, { delegate: [wider] }))).toMatchObject({
      code: 'AMPLIFICATION',
    });
    expect(await refusal(read(join(workspace, 'secret.txt')))).toMatchObject({ code: 'CAPABILITY_DENIED' });
  });

  it('is called as often as the budget says, and not once more', async () => {
    const { kernel, pid, notes } = await withFiles([readNotes], { toolCalls: 3 });
    const read = () => kernel.as(pid).tools.call('mcp/fs/read_text_file', { path: join(notes, 'a.txt') });
    for (let call = 1; call <= 3; call++) await read();
    expect(await refusal(read())).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      facts: { dimension: 'toolCalls', process: pid, limit: 3, used: 3, asked: 1 },
    });
    expect((await kernel.processes.budget(pid)).toolCalls).toMatchObject({ limit: 3, used: 3, left: 0 });
  });

  it('leaves a record that names by which capability each call was made, back to the host', async () => {
    const { kernel, pid, notes } = await withFiles([readNotes]);
    await kernel.as(pid).tools.call('mcp/fs/read_text_file', { path: join(notes, 'a.txt') });
    const held = (await kernel.capabilities.list(pid)).find(({ resource }) => resource === readNotes.resource);
    const [intent, outcome] = (await kernel.audit.list({ action: 'tool.call' })).items;
    for (const record of [intent, outcome]) {
      expect(record).toMatchObject({ actor: pid, resource: readNotes.resource, capability: held?.id });
    }
    expect([intent?.outcome, outcome?.outcome]).toEqual(['intent', 'ok']);
    expect(await kernel.audit.authority(outcome?.seq ?? 0)).toMatchObject({
      actor: pid,
      root: 'host',
      chain: [{ capability: held?.id, resource: readNotes.resource, holder: pid }],
    });
    const { capabilities } = await kernel.audit.lineage(pid);
    expect(capabilities.map(({ resource }) => resource)).toContain(readNotes.resource);
  });

  it('is refused once its capability is revoked', async () => {
    const { kernel, pid, notes } = await withFiles([readNotes]);
    const read = () => kernel.as(pid).tools.call('mcp/fs/read_text_file', { path: join(notes, 'a.txt') });
    await read();
    const held = (await kernel.capabilities.list(pid)).find(({ resource }) => resource === readNotes.resource);
    await kernel.capabilities.revoke(held?.id ?? '');
    expect(await refusal(read())).toMatchObject({ code: 'CAPABILITY_REVOKED' });
  });

  it('keeps what it was told between calls, and a process without a grant learns nothing of it', async () => {
    const { kernel, call } = await mcpFixture();
    const file = join(tempFolder(), 'graph.jsonl');
    await kernel.tools.connectMcp('memory', { ...npmServer('server-memory'), env: { MEMORY_FILE_PATH: file } });
    const entity = { name: 'Ann', entityType: 'person', observations: ['likes tea'] };
    await call('mcp/memory/create_entities', { entities: [entity] });
    expect(await call('mcp/memory/search_nodes', { query: 'tea' })).toMatchObject({
      entities: [entity],
      relations: [],
    });
    const stranger = await kernel.processes.spawn({});
    const search = kernel.as(stranger).tools.call('mcp/memory/search_nodes', { query: 'tea' });
    expect(await refusal(search)).toMatchObject({ code: 'CAPABILITY_DENIED' });
  });
});

async function withFiles(
  capabilities: CapabilitySpec[],
  budget: { toolCalls?: number } = {},
): Promise<{ kernel: Kernel; pid: Pid; workspace: string; notes: string }> {
  const workspace = tempFolder();
  const notes = join(workspace, 'notes');
  for (const folder of [notes, join(workspace, 'notes2')]) {
    mkdirSync(folder);
    writeFileSync(join(folder, 'a.txt'), 'alpha');
    writeFileSync(join(folder, 'c.txt'), 'gamma');
  }
  writeFileSync(join(workspace, 'secret.txt'), 'secret');
  const { kernel } = await mcpFixture({ workspace });
  await kernel.tools.connectMcp('fs', npmServer('server-filesystem', workspace));
  const pid = await kernel.processes.spawn({ capabilities, budget });
  return { kernel, pid, workspace, notes };
}
