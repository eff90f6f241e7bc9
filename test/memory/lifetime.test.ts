import { describe, expect, it } from 'vitest';
import { checkInvariants } from '../support/invariants.js';
import { refusal } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { parentAndChildren, readOrCode } from '../support/memory/parent-and-children.js';
import { openRawTables } from '../support/storage/raw-tables.js';

const large = (letter: string) => letter.repeat(5_000);

function payloadRows(path: string): Promise<number> {
  return openRawTables(path).count('payloads');
}

describe('what a child made', () => {
  it('is readable for its parent after its end, and for nobody else', async () => {
    const { kernel, path, parent, fork, create, read: readAs } = await parentAndChildren();
    const [child, sibling] = [await fork(), await fork()];
    const made = await create(child, 'made');
    expect(await readAs(parent, made)).toBe('NO_SUCH_OBJECT');
    await kernel.processes.exit(child, { result: 'result' });
    const { result } = await kernel.processes.wait(parent, child);
    expect(result).toBeDefined();
    if (result === undefined) return;
    const all = (object: typeof made) => Promise.all([parent, sibling, child].map((pid) => readAs(pid, object)));
    expect([await all(made), await all(result)]).toEqual([
      ['made', 'NO_SUCH_OBJECT', 'NO_SUCH_OBJECT'],
      ['result', 'NO_SUCH_OBJECT', 'NO_SUCH_OBJECT'],
    ]);
    for (const call of [
      () => kernel.memory.update(parent, made, 2),
      () => kernel.memory.delete(parent, made),
      () => kernel.memory.share(sibling, parent, made, ['read']),
    ]) {
      expect((await refusal(call())).code).toBe('NO_SUCH_OBJECT');
    }
    expect(await kernel.memory.sweep()).toEqual({ reclaimed: 0 });
    expect(await readAs(parent, made)).toBe('made');
    await checkInvariants(kernel, path);
  });

  it('and was not merged is out of reach after the merge, and is reclaimed', async () => {
    const { kernel, path, parent, fork, create, read: readAs } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    const [kept, dropped] = [await create(child, large('k')), await create(child, large('d'))];
    await kernel.memory.removeFromView(child, dropped);
    await kernel.processes.exit(child);
    expect(await readAs(parent, dropped)).toBe(large('d'));
    await kernel.memory.merge(parent, child);
    expect([await readAs(parent, kept), await readAs(parent, dropped)]).toEqual([large('k'), 'NO_SUCH_OBJECT']);
    const before = await payloadRows(path);
    expect([await kernel.memory.sweep(), await kernel.memory.sweep()]).toEqual([{ reclaimed: 1 }, { reclaimed: 0 }]);
    expect([before, await payloadRows(path), await readAs(parent, kept)]).toEqual([2, 1, large('k')]);
    await checkInvariants(kernel, path);
  });

  it('is released by a merge on record, with what the parent has handed on of it', async () => {
    const { kernel, path, parent, fork, create, read: readAs } = await parentAndChildren();
    const [child, sibling] = [await fork({ mode: 'copy' }), await fork({ mode: 'copy' })];
    const dropped = await create(child, 'dropped');
    await kernel.memory.removeFromView(child, dropped);
    await kernel.processes.exit(child);
    const [successor] = (await kernel.capabilities.list(parent)).filter(({ grantedBy }) => grantedBy === child);
    const lent = await kernel.memory.share(parent, sibling, dropped, ['read']);
    expect(await readAs(sibling, dropped)).toBe('dropped');
    await kernel.memory.merge(parent, child);
    expect(await readAs(sibling, dropped)).toBe('NO_SUCH_OBJECT');
    const records = (await kernel.audit.list({ action: 'capability.revoke' })).items;
    expect(records.map(({ actor, target, capability, resource }) => [actor, target, capability, resource])).toEqual([
      [parent, parent, successor?.id, `ns:process/${child}/**`],
    ]);
    await kernel.shutdown();
    const again = (await kernelFixture({ store: path })).kernel;
    const [swept] = (await again.audit.list({ action: 'capability.sweep' })).items;
    expect(swept?.facts).toEqual({ under: [successor?.id], capabilities: [lent.capability] });
    await checkInvariants(again, path);
  });

  it('is released by the end of the parent, but for what the parent handed up', async () => {
    // Regression: a sweep dropped the result too, because its creator and that one's parent had ended.
    const { kernel, path, parent, fork, create, read: readAs } = await parentAndChildren();
    const child = await fork();
    const grandchild = await fork({}, child);
    const [result, other] = [await create(grandchild, 'result'), await create(grandchild, 'other')];
    await kernel.processes.exit(grandchild);
    const handle = (await kernel.memory.view(child)).roots.find(({ id }) => id === result.id);
    expect(handle).toBeUndefined();
    await kernel.memory.addToView(child, result);
    await kernel.processes.exit(child, { result });
    expect([await readAs(parent, result), await readAs(parent, other)]).toEqual(['result', 'NO_SUCH_OBJECT']);
    expect(await kernel.memory.sweep()).toEqual({ reclaimed: 1 });
    expect(await readAs(parent, result)).toBe('result');
    expect((await kernel.processes.wait(parent, child)).value).toBe('result');
    await checkInvariants(kernel, path);
  });
});

describe('sweep', () => {
  it('leaves what a root made and its result, whoever made that', async () => {
    const { kernel, path, parent, note, fork, create } = await parentAndChildren();
    const child = await fork();
    const [result, other] = [await create(child, large('r')), await create(child, 'other')];
    await kernel.processes.exit(child);
    await kernel.processes.exit(parent, { result });
    // The other object that the child created.
    expect(await kernel.memory.sweep()).toEqual({ reclaimed: 1 });
    expect((await kernel.processes.result(parent)).value).toBe(large('r'));
    const reader = await kernel.processes.spawn({ image: 'worker' });
    for (const { id } of [note, other]) {
      await kernel.capabilities.grant(reader, { resource: `object:${id}`, rights: ['read'] });
    }
    expect([await readOrCode(kernel, reader, note), await readOrCode(kernel, reader, other)]).toEqual([
      { n: 1 },
      'NO_SUCH_OBJECT',
    ]);
    await checkInvariants(kernel, path);
  });

  it('leaves what is in a shared namespace, and what somebody was given', async () => {
    const { kernel, path, parent, fork, create, read: readAs } = await parentAndChildren();
    const spec = { resource: 'ns:team/**', rights: ['read', 'create', 'write'], delegable: true } as const;
    await kernel.capabilities.grant(parent, spec);
    const child = await fork({ delegate: [{ resource: 'ns:team/**', rights: ['read', 'create'] }] });
    const shared = await create(child, large('s'), { namespace: 'team/notes' });
    const [given, lent] = [await create(child, 'given'), await create(child, 'lent')];
    const other = await kernel.processes.spawn({ image: 'worker', capabilities: [spec] });
    const resource = `object:${given.id}`;
    const grant = await kernel.capabilities.grant(other, { resource, rights: ['read'] });
    await kernel.memory.share(child, parent, lent, ['read']);
    await kernel.processes.exit(child);
    await kernel.processes.exit(parent);
    // The object that was shared with the parent of the child.
    expect(await kernel.memory.sweep()).toEqual({ reclaimed: 1 });
    expect([await readAs(other, shared), await readAs(other, given)]).toEqual([large('s'), 'given']);
    await kernel.capabilities.revoke(grant.id);
    expect(await kernel.memory.sweep()).toEqual({ reclaimed: 1 });
    expect([await readAs(other, shared), await readAs(other, given)]).toEqual([large('s'), 'NO_SUCH_OBJECT']);
    await checkInvariants(kernel, path);
  });

  it('leaves what a live fork still shows, of a view that was merged', async () => {
    // Regression: the fork showed the main line's version after the sweep.
    const { kernel, path, parent, note, fork, read: readAs } = await parentAndChildren();
    const child = await fork({ mode: 'copy' });
    await kernel.memory.update(child, note, 1);
    await kernel.memory.update(child, note, large('c'));
    const orphan = await fork({ mode: 'copy', onParentExit: 'reparent' }, child);
    await kernel.memory.update(child, note, 3);
    await kernel.processes.exit(child);
    await kernel.memory.merge(parent, child);
    await kernel.memory.update(parent, note, 4);
    await kernel.memory.sweep();
    const versions = async () => (await kernel.memory.history(orphan, note)).map(({ version }) => version);
    expect([await readAs(orphan, note), await versions()]).toEqual([large('c'), [1, 2, 3]]);
    await kernel.processes.exit(orphan);
    // The three versions that the child's view had were of one object.
    const before = await payloadRows(path);
    expect([await kernel.memory.sweep(), before, await payloadRows(path)]).toEqual([{ reclaimed: 1 }, 1, 0]);
    expect(await readAs(parent, note)).toBe(4);
    await checkInvariants(kernel, path);
  });

  it('drops what a failed attempt wrote, and leaves what can still be merged', async () => {
    // Regression: overlays were dropped only when the same sweep also reclaimed objects.
    const { kernel, path, parent, note, fork, read: readAs } = await parentAndChildren();
    const [failed, succeeded] = [await fork({ mode: 'speculative' }), await fork({ mode: 'speculative' })];
    await kernel.memory.update(failed, note, large('f'));
    await kernel.memory.update(succeeded, note, large('s'));
    await kernel.processes.exit(failed, { failed: true });
    await kernel.processes.exit(succeeded);
    const before = await payloadRows(path);
    expect([await kernel.memory.sweep(), before, await payloadRows(path)]).toEqual([{ reclaimed: 1 }, 2, 1]);
    expect((await kernel.memory.merge(parent, succeeded)).merged).toEqual([note.id]);
    expect(await readAs(parent, note)).toBe(large('s'));
    await checkInvariants(kernel, path);
  });

  it('leaves every earlier version of what is still there', async () => {
    const { kernel, path, parent, note } = await parentAndChildren();
    for (const letter of ['a', 'b', 'c']) await kernel.memory.update(parent, note, large(letter));
    expect(await kernel.memory.sweep()).toEqual({ reclaimed: 0 });
    const read = (version: number) => kernel.memory.read(parent, note, { version });
    expect((await read(2)).payload).toBe(large('a'));
    await kernel.memory.delete(parent, note);
    expect([await kernel.memory.sweep(), await payloadRows(path)]).toEqual([{ reclaimed: 1 }, 0]);
    expect((await refusal(read(2))).code).toBe('NO_SUCH_OBJECT');
    await checkInvariants(kernel, path);
  });

  it('leaves a stored payload while one object is left that has it', async () => {
    const { kernel, path, parent, create, read: readAs } = await parentAndChildren();
    const [one, two] = [await create(parent, large('x')), await create(parent, large('x'))];
    await kernel.memory.delete(parent, one);
    expect([await kernel.memory.sweep(), await payloadRows(path)]).toEqual([{ reclaimed: 1 }, 1]);
    expect([await readAs(parent, one), await readAs(parent, two)]).toEqual(['NO_SUCH_OBJECT', large('x')]);
    await kernel.memory.delete(parent, two);
    expect([await kernel.memory.sweep(), await payloadRows(path)]).toEqual([{ reclaimed: 1 }, 0]);
    await checkInvariants(kernel, path);
  });

  it('has nothing to do after a prune, which takes what the processes have left', async () => {
    const { kernel, path, parent, fork, create } = await parentAndChildren();
    await create(await fork(), large('c'));
    await kernel.processes.exit(parent);
    const rows = await payloadRows(path);
    await kernel.processes.prune({ endedBefore: Date.now() + 60_000 });
    expect([rows, await payloadRows(path), await kernel.memory.sweep()]).toEqual([1, 0, { reclaimed: 0 }]);
    expect((await kernel.audit.verify()).ok).toBe(true);
  });

  it('goes on where another kernel has stopped, in more than one batch', async () => {
    const { kernel, path, parent, create } = await parentAndChildren();
    const made = await Promise.all(Array.from({ length: 1_201 }, (_, n) => create(parent, n + 1)));
    for (const object of made) await kernel.memory.delete(parent, object);
    const other = (await kernelFixture({ store: path })).kernel;
    const swept = await Promise.all([kernel.memory.sweep(), other.memory.sweep()]);
    expect(swept.reduce((sum, { reclaimed }) => sum + reclaimed, 0)).toBe(1_201);
    expect(await other.memory.sweep()).toEqual({ reclaimed: 0 });
    await checkInvariants(kernel, path);
  });
});
