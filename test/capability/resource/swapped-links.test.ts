import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { KernelError, type Pid } from '../../../src/index.js';
import { decisionCode } from '../../support/capability/decision-codes.js';
import { tempFolder } from '../../support/kernel.js';
import { type KernelFixture, kernelFixture } from '../../support/kernel-fixture.js';

/** `data/link` in a workspace, which can be turned while somebody looks at it. */
interface Turning extends KernelFixture {
  /** Turns it to the other state, at once or by way of nothing; answers with the state that it is in now. */
  turn(): 'first' | 'second';
  /** Turns it on and on while `work` is under way. */
  during<T>(work: Promise<T>): Promise<T>;
}

/** The states of `data/link`: a folder of its own, or a link. */
type Thing = 'folder' | { readonly to: string };

/**
 * Both things lie ready beside it, and a turn is a rename: of a link over a link that is one step, and with a folder
 * there is a moment in which nothing has the name.
 */
async function turning(...things: readonly [Thing, Thing]): Promise<Turning> {
  const workspace = tempFolder();
  for (const folder of ['data', 'spare', 'secret/sub', 'vault/sub']) {
    mkdirSync(join(workspace, folder), { recursive: true });
  }
  for (const folder of ['secret', 'vault']) writeFileSync(join(workspace, folder, 'file'), '');
  const place = join(workspace, 'data', 'link');
  const spare = (index: number) => join(workspace, 'spare', `${index}`);
  for (const [index, thing] of things.entries()) {
    if (thing !== 'folder') symlinkSync(thing.to, spare(index));
    else {
      mkdirSync(join(spare(index), 'sub'), { recursive: true });
      writeFileSync(join(spare(index), 'file'), '');
    }
  }
  renameSync(spare(0), place);
  const areLinks = things.every((thing) => thing !== 'folder');
  let now = 0;
  let turns = 0;
  const turn = () => {
    const next = 1 - now;
    const target = things[next];
    if (areLinks && target !== undefined && target !== 'folder') {
      // The name is never free, so a link that takes its place is made anew each time.
      const made = join(workspace, 'spare', `link${turns++}`);
      symlinkSync(target.to, made);
      renameSync(made, place);
    } else {
      renameSync(place, spare(now));
      renameSync(spare(next), place);
    }
    now = next;
    return now === 0 ? 'first' : 'second';
  };
  const during = async <T>(work: Promise<T>): Promise<T> => {
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    work.then(end, end);
    // Also for a call that is over at once there is one turn.
    do {
      turn();
      await setImmediate();
    } while (!isOver);
    return work;
  };
  return { ...(await kernelFixture({ workspace })), turn, during };
}

/** Every answer that there was while the link was turned, and while it was left alone in each of its states. */
interface Seen {
  readonly turning: readonly string[];
  readonly first: readonly string[];
  readonly second: readonly string[];
}

/** Asks again and again: while the link is turned, and in both of its states. */
async function watched(set: Turning, rounds: number, ask: () => Promise<string>): Promise<Seen> {
  const seen = { turning: new Set<string>(), first: new Set<string>(), second: new Set<string>() };
  for (let round = 0; round < rounds; round++) {
    seen.turning.add(await set.during(ask()));
    for (const _state of ['one', 'other']) seen[set.turn()].add(await ask());
  }
  const sorted = (answers: Set<string>) => [...answers].sort();
  return { turning: sorted(seen.turning), first: sorted(seen.first), second: sorted(seen.second) };
}

async function reader({ kernel }: KernelFixture, resource: string, cwd = '.'): Promise<Pid> {
  return kernel.processes.spawn({ cwd, capabilities: [{ resource, rights: ['read'] }] });
}

function checking({ kernel }: KernelFixture, pid: Pid, name = 'file'): () => Promise<string> {
  return async () => (await kernel.capabilities.check(pid, 'read', `fs:data/link/${name}`)).code;
}

/** The decisions that should not have been made. */
function beyond(answers: readonly string[], ...expected: string[]): string[] {
  return answers.filter((answer) => !expected.includes(answer));
}

const none = ['NO_CAPABILITY'];
/** Pairs of places of which a holder of `data` may use neither. */
const places = (): (readonly [Thing, Thing])[] => [
  [{ to: '../secret' }, { to: '../vault' }],
  [{ to: '../secret' }, { to: tempFolder() }],
  [{ to: '../secret' }, { to: 'missing' }],
  [{ to: join(tempFolder(), 'missing') }, { to: 'link' }],
];

describe('a link that is turned while it is looked at', () => {
  it('between a folder that is granted and a place that is not has in each state its own decision', async () => {
    const set = await turning('folder', { to: '../secret' });
    const { turning: meanwhile, ...still } = await watched(set, 400, checking(set, await reader(set, 'fs:data/**')));
    expect(still).toEqual({ first: ['ALLOWED'], second: none });
    expect(beyond(meanwhile, 'ALLOWED', 'NO_CAPABILITY')).toEqual([]);
  });

  it('between a folder that is granted and one that is forbidden has in each state its own decision', async () => {
    const set = await turning('folder', { to: '../secret' });
    const pid = await reader(set, 'fs:**');
    await set.kernel.capabilities.deny(pid, { resource: 'fs:secret/**', rights: ['read'] });
    const { turning: meanwhile, ...still } = await watched(set, 400, checking(set, pid));
    expect(still).toEqual({ first: ['ALLOWED'], second: ['DENY_RULE'] });
    // NO_CAPABILITY: what came and went while it was looked at cannot be told.
    expect(beyond(meanwhile, 'ALLOWED', 'DENY_RULE', 'NO_CAPABILITY')).toEqual([]);
  });

  it('between two places that are not granted is never allowed', async () => {
    const set = await turning({ to: '../secret' }, { to: '../vault' });
    const seen = await watched(set, 400, checking(set, await reader(set, 'fs:data/**')));
    expect(seen).toEqual({ turning: none, first: none, second: none });
  });

  it('between places inside, outside and nowhere that are not granted is never allowed, also for a new file', async () => {
    for (const things of places()) {
      const set = await turning(...things);
      const pid = await reader(set, 'fs:data/**');
      for (const name of ['file', 'new/deep/file']) {
        const seen = await watched(set, 30, checking(set, pid, name));
        expect([things, name, seen]).toEqual([things, name, { turning: none, first: none, second: none }]);
      }
    }
  });

  it('between a forbidden place and one outside is never allowed to one that holds everything', async () => {
    const set = await turning({ to: '../secret' }, { to: tempFolder() });
    const pid = await reader(set, 'fs:**');
    await set.kernel.capabilities.deny(pid, { resource: 'fs:secret/**', rights: ['read'] });
    const { turning: meanwhile, ...still } = await watched(set, 250, checking(set, pid));
    expect(still).toEqual({ first: ['DENY_RULE'], second: none });
    expect(beyond(meanwhile, 'DENY_RULE', 'NO_CAPABILITY')).toEqual([]);
  });

  it('is judged by what it is then in each of check, explain and require', async () => {
    const set = await turning('folder', { to: '../secret' });
    const pid = await reader(set, 'fs:data/**');
    const codes: string[] = [];
    for (let round = 0; round < 4; round++) {
      codes.push(await decisionCode(set.kernel, pid, 'read', 'fs:data/link/file'));
      set.turn();
    }
    expect(codes).toEqual(['ALLOWED', 'NO_CAPABILITY', 'ALLOWED', 'NO_CAPABILITY']);
  });
});

describe('chdir through a link that is turned meanwhile', () => {
  /** From `data` into the link and back; the code of the refusal, or `moved`. Only refusals of the kernel may come. */
  const moving = (set: KernelFixture, pid: Pid) => async (): Promise<string> => {
    const { kernel } = set;
    const moved = await outcome(kernel.as(pid).chdir('link/sub'));
    expect((await kernel.processes.get(pid)).cwd).toBe(moved === 'done' ? 'data/link/sub' : 'data');
    if (moved === 'done') await kernel.processes.chdir(pid, '../..');
    return moved;
  };

  it('goes where it may go at that time', async () => {
    const set = await turning('folder', { to: '../secret' });
    const pid = await reader(set, 'fs:data/**', 'data');
    const { turning: meanwhile, ...still } = await watched(set, 80, moving(set, pid));
    expect(still).toEqual({ first: ['done'], second: ['CAPABILITY_DENIED'] });
    expect(beyond(meanwhile, 'done', 'CAPABILITY_DENIED', 'INVALID_PATH')).toEqual([]);
  });

  it('never goes where it may go in neither state', async () => {
    for (const things of places()) {
      const set = await turning(...things);
      const seen = await watched(set, 20, moving(set, await reader(set, 'fs:data/**', 'data')));
      expect(beyond(Object.values(seen).flat(), 'CAPABILITY_DENIED', 'INVALID_PATH')).toEqual([]);
    }
  });

  it('finds the folder or refuses with INVALID_PATH when it is renamed under the eyes of the host', async () => {
    const set = await turning('folder', { to: 'missing' });
    const seen = await watched(set, 80, () => outcome(set.kernel.processes.spawn({ cwd: 'data/link/sub' })));
    expect({ first: seen.first, second: seen.second }).toEqual({ first: ['done'], second: ['INVALID_PATH'] });
    expect(beyond(seen.turning, 'done', 'INVALID_PATH')).toEqual([]);
  });
});

async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'done';
  } catch (error) {
    if (error instanceof KernelError) return error.code;
    throw error;
  }
}
