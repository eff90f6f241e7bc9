import { describe, expect, it } from 'vitest';
import { atomDescriptions } from '../../src/capability/constraint/atom-descriptions.js';
import { constrainedKinds } from '../../src/capability/constraint/constraints-spec.js';
import { resourceKinds } from '../../src/capability/resource/resource.js';
import { kindDescriptions } from '../../src/capability/resource/rights.js';
import type { Constraints, JsonObject } from '../../src/index.js';
import { builtinToolNeeds } from '../../src/tools/builtin/builtin-tools.js';
import { openKernel, refusal } from '../support/kernel.js';

describe('the tables of resources', () => {
  it.each(resourceKinds)('have an example for %s with rights that can be granted', async (kind) => {
    const { processes, capabilities } = await openKernel();
    const pid = await processes.spawn();
    const { example, rights } = kindDescriptions[kind];
    expect((await capabilities.grant(pid, { resource: example, rights })).rights).toEqual(rights);
    const granted = capabilities.grant(pid, { resource: example, rights, constraints: { '*': { any: true } } });
    if (constrainedKinds.has(kind)) expect((await granted).constraints).toEqual({ '*': { any: true } });
    else expect(await refusal(granted)).toMatchObject({ code: 'INVALID_INPUT' });
  });
});

describe('the table of atoms', () => {
  it.each(Object.entries(atomDescriptions))('has values that %s accepts and refuses', async (_name, atom) => {
    const decide = await decisionsWith({ value: atom.example });
    expect(await decide({ value: atom.accepted })).toBe('ALLOWED');
    if (atom.refused !== undefined) expect(await decide({ value: atom.refused })).toBe('CONSTRAINT');
    else expect(await decide({})).toBe('CONSTRAINT');
  });

  it('is followed by what the closed world does', async () => {
    const closed = await decisionsWith({ a: { eq: 1 }, b: { any: true, optional: true } });
    expect(await closed({ a: 1 })).toBe('ALLOWED');
    expect(await closed({ a: 1, b: { anything: ['below', 'it'] } })).toBe('ALLOWED');
    expect(await closed({ b: 2 })).toBe('CONSTRAINT');
    expect(await closed({ a: 1, c: null })).toBe('CONSTRAINT');
    const open = await decisionsWith({ a: { eq: 1 }, '*': { any: true } });
    expect(await open({ a: 1, c: null })).toBe('ALLOWED');
    expect(await open({ a: 2, c: null })).toBe('CONSTRAINT');
    const shut = await decisionsWith({ a: { any: true, closed: true } });
    expect(await shut({ a: 1 })).toBe('CONSTRAINT');
  });
});

describe('the section of tools', () => {
  it('says what a tool needs that is there', async () => {
    const kernel = await openKernel();
    const pid = await kernel.processes.spawn();
    const names = (await kernel.as(pid).tools.list()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(Object.keys(builtinToolNeeds)));
  });
});

/** The codes of decisions on a tool that a process may call with these constraints. */
async function decisionsWith(constraints: Constraints): Promise<(args: JsonObject) => Promise<string>> {
  const { processes, capabilities } = await openKernel();
  const pid = await processes.spawn({ capabilities: [{ resource: 'tool:t', rights: ['call'], constraints }] });
  return async (args) => (await capabilities.check(pid, 'call', 'tool:t', args)).code;
}
