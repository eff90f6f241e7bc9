import { describe, expect, it } from 'vitest';
import type { AuditRecord, Kernel } from '../../src/index.js';
import { pending } from '../support/capability/pending-approvals.js';
import { call, cast, search } from '../support/capability/two-roots.js';
import { refusal } from '../support/kernel.js';

async function last(kernel: Kernel, action: string): Promise<AuditRecord> {
  const { items } = await kernel.audit.list({ action, outcome: 'ok' });
  const record = items.at(-1);
  if (record === undefined) throw new Error(`there is no record of ${action}`);
  return record;
}

describe('authority', () => {
  it('follows the capability of an effect to the root grant of the host, with those who held it then', async () => {
    const { kernel, giver, taker } = await cast(search);
    const third = await kernel.processes.spawn({});
    const given = await kernel.capabilities.delegate(giver, taker, { ...call, delegable: true });
    await kernel.capabilities.require(taker, 'call', 'tool:search');
    const record = await last(kernel, 'capability.require');
    const root = { holder: giver, resource: 'tool:search', rights: ['call', 'grant'], grantedBy: 'host' };
    const trace = {
      record,
      actor: taker,
      chain: [
        { capability: given.id, holder: taker, resource: 'tool:search', rights: ['call', 'grant'], grantedBy: giver },
        { capability: given.parent, ...root },
      ],
      root: 'host',
    };
    expect(await kernel.audit.authority(record.seq)).toEqual(trace);
    await kernel.capabilities.transfer(taker, third, given.id);
    expect(await kernel.audit.authority(record.seq)).toEqual(trace);
    await kernel.capabilities.require(third, 'call', 'tool:search');
    const later = await kernel.audit.authority((await last(kernel, 'capability.require')).seq);
    expect([later.actor, later.chain[0]?.holder]).toEqual([third, third]);
  });

  it('ends with the person who approved a request, and names the one who waived a rule', async () => {
    const { kernel, giver } = await cast();
    const asked = kernel.as(giver).capabilities.request(call);
    const { id } = await pending(kernel);
    await kernel.approvals.answer(id, { decision: 'once', by: 'ann' });
    await asked;
    await kernel.capabilities.ask(giver, call);
    const used = kernel.as(giver).capabilities.require('call', 'tool:search');
    const second = await pending(kernel);
    await kernel.approvals.answer(second.id, { decision: 'always', by: 'bob', scope: 'resource' });
    await used;
    const { root, waivedBy } = await kernel.audit.authority((await last(kernel, 'capability.require')).seq);
    expect(root).toEqual({ approval: id, decision: 'once', by: 'ann', at: expect.any(Number) });
    expect(waivedBy).toEqual({
      approval: second.id,
      decision: 'always',
      scope: 'resource',
      by: 'bob',
      at: expect.any(Number),
    });
  });

  it('says when it was the host itself, a tie of kin, or nothing at all', async () => {
    const { kernel, giver } = await cast();
    const child = await kernel.as(giver).spawnChild({});
    await kernel.as(giver).kill(child);
    const roots = async (action: string) => (await kernel.audit.authority((await last(kernel, action)).seq)).root;
    expect(await roots('process.spawn')).toBe('host');
    expect(await roots('process.kill')).toBe('kin');
    expect(await roots('process.spawnChild')).toBe('none');
  });

  it('of something that was refused names what came nearest, and where that came from', async () => {
    const { kernel, giver, taker } = await cast(search);
    const given = await kernel.capabilities.delegate(giver, taker, { ...call, constraints: { query: { eq: 'a' } } });
    await refusal(kernel.capabilities.require(taker, 'call', 'tool:search', { query: 'b' }));
    const [record] = (await kernel.audit.list({ action: 'capability.require', outcome: 'refused' })).items;
    expect(record).toMatchObject({ decision: 'deny', facts: { code: 'CONSTRAINT', nearest: [given.id] } });
    expect(await kernel.audit.authority(record?.seq ?? 0)).toMatchObject({
      actor: taker,
      chain: [],
      root: 'none',
      nearest: [
        [
          { capability: given.id, holder: taker, grantedBy: giver },
          { capability: given.parent, grantedBy: 'host' },
        ],
      ],
    });
  });

  it('refuses a record that there is not', async () => {
    const { kernel, refused } = await cast();
    expect((await refused(() => kernel.audit.authority(10_000))).code).toBe('NO_SUCH_RECORD');
    expect((await refusal(kernel.audit.authority(-1))).code).toBe('INVALID_INPUT');
  });
});
