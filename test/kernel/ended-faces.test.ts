import { describe, expect, it } from 'vitest';
import { commandFixture } from '../support/command-fixture.js';
import { acts, callsOf, looks, tabledCalls } from '../support/face-calls.js';
import { faceFamily } from '../support/face-family.js';
import { refusal } from '../support/kernel.js';

/** What needs a capability is refused by that: those of a process are dead with it. */
const otherCodes: Readonly<Record<string, string>> = {
  'memory.create': 'CAPABILITY_DENIED',
  'capabilities.require': 'CAPABILITY_DENIED',
  'memory.read': 'NO_SUCH_OBJECT',
  'memory.history': 'NO_SUCH_OBJECT',
  'memory.links': 'NO_SUCH_OBJECT',
  'memory.lookup': 'NO_SUCH_OBJECT',
  'memory.diff': 'NO_SUCH_OBJECT',
  'memory.update': 'NO_SUCH_OBJECT',
  'memory.delete': 'NO_SUCH_OBJECT',
  'memory.link': 'NO_SUCH_OBJECT',
  'memory.addToView': 'NO_SUCH_OBJECT',
};

it('the tables of calls have every call of a face', async () => {
  const { face } = await faceFamily();
  expect(callsOf(face).filter((name) => !tabledCalls.has(name))).toEqual([]);
});

describe('through the face of an ended process', () => {
  for (const [name, call] of Object.entries({ ...acts, ...looks })) {
    if (name === 'capabilities.check' || name === 'capabilities.explain') continue;
    const expected = otherCodes[name] ?? 'PROCESS_TERMINATED';
    it(`${name} is ${expected}`, async () => {
      const set = await faceFamily();
      await set.kernel.processes.exit(set.pid);
      const code = await call(set.face, set).catch((error) => error.code);
      expect(code).toBe(expected);
    });
  }

  it('capabilities.check and explain allow nothing', async () => {
    const { kernel, face, pid } = await faceFamily();
    expect((await face.capabilities.check('call', 'tool:echo')).effect).toBe('allow');
    await kernel.processes.exit(pid);
    expect((await face.capabilities.check('call', 'tool:echo')).effect).toBe('deny');
    expect((await face.capabilities.explain('call', 'tool:echo')).effect).toBe('deny');
  });

  it('the output of its commands is not read, and a wait for it is over', async () => {
    const { kernel, pid, face } = await commandFixture();
    const command = await face.run({ argv: ['sh', '-c', 'echo secret'], background: true });
    await face.wait(command.pid);
    const sleeping = await face.run({ argv: ['sleep', '100'], background: true });
    expect((await face.readOutput(command.pid)).text).toBe('secret\n');
    const waiting = refusal(face.waitOutput(sleeping.pid, 'never'));
    await kernel.processes.exit(pid);
    expect((await waiting).code).toBe('PROCESS_TERMINATED');
    expect((await refusal(face.readOutput(command.pid))).code).toBe('PROCESS_TERMINATED');
    expect((await refusal(face.waitOutput(command.pid, 'secret'))).code).toBe('PROCESS_TERMINATED');
    expect((await kernel.processes.readOutput(command.pid)).text).toBe('secret\n');
    await kernel.processes.result(sleeping.pid);
  });

  it('the host still reads what it was', async () => {
    const { kernel, pid, child, ended } = await faceFamily();
    await kernel.processes.exit(pid);
    expect((await kernel.processes.children(pid)).map((record) => record.pid)).toEqual([child, ended]);
    expect((await kernel.processes.budget(pid)).tokens.used).toBe(0);
  });
});
