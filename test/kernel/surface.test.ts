import { expect, it } from 'vitest';
import type { ProcessCapabilities, ProcessFace, ProcessManager, ProcessMemory } from '../../src/index.js';
import { openKernel } from '../support/kernel.js';

/** The tool that offers each member of a process's face to models; null for those that are not offered. */
const builtinTools = {
  spawnChild: 'process.spawn',
  wait: 'process.wait',
  children: 'process.list',
  pause: 'process.signal',
  resume: 'process.signal',
  cancel: 'process.signal',
  kill: 'process.signal',
  send: 'message.send',
  run: 'command.run',
  memory: 'memory.read',
  capabilities: 'capability.request',
  tools: null,
  waitAny: null,
  waitAll: null,
  value: null,
  call: null,
  receive: null,
  ask: 'human.ask',
  parent: null,
  get: null,
  signal: null,
  exit: null,
  fork: null,
  exec: null,
  chdir: null,
  charge: null,
  reserve: null,
  settle: null,
  budget: null,
  readOutput: null,
  waitOutput: null,
  pid: null,
} as const satisfies Record<keyof ProcessFace, string | null>;

/** The members of each face, so that the compiler points here when one is added. */
const hostMembers: Record<keyof ProcessManager, true> = {
  spawn: true,
  spawnChild: true,
  fork: true,
  exec: true,
  exit: true,
  wait: true,
  waitAny: true,
  waitAll: true,
  result: true,
  value: true,
  signal: true,
  send: true,
  pause: true,
  resume: true,
  cancel: true,
  kill: true,
  complete: true,
  fail: true,
  progress: true,
  abandon: true,
  chdir: true,
  charge: true,
  reserve: true,
  settle: true,
  budget: true,
  setBudget: true,
  setOwner: true,
  adopt: true,
  checkpoint: true,
  find: true,
  get: true,
  list: true,
  counts: true,
  children: true,
  ancestors: true,
  tree: true,
  journal: true,
  goal: true,
  transcript: true,
  logs: true,
  readOutput: true,
  waitOutput: true,
  prune: true,
  retry: true,
};
const capabilityMembers: Record<keyof ProcessCapabilities, true> = {
  list: true,
  check: true,
  explain: true,
  require: true,
  request: true,
  derive: true,
  delegate: true,
  revoke: true,
};
const memoryMembers: Record<keyof ProcessMemory, true> = {
  create: true,
  read: true,
  update: true,
  delete: true,
  link: true,
  links: true,
  diff: true,
  history: true,
  lookup: true,
  query: true,
  share: true,
  view: true,
  addToView: true,
  removeFromView: true,
  merge: true,
  materialize: true,
};

/** The names that can be read from a face, whether its own or its prototype's. */
function membersOf(face: object): string[] {
  const names = new Set<string>();
  for (const name in face) names.add(name);
  for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(face))) names.add(name);
  for (const name of [...Object.getOwnPropertyNames(Object.prototype), 'constructor']) names.delete(name);
  return [...names].sort();
}

it('the host has the syscalls that are declared, and nothing else', async () => {
  const { processes } = await openKernel();
  expect(membersOf(processes)).toEqual(Object.keys(hostMembers).sort());
});

it('a process has the syscalls that are declared, and no way to the parts of the kernel', async () => {
  const kernel = await openKernel();
  const face = kernel.as(await kernel.processes.spawn());
  expect(membersOf(face)).toEqual(Object.keys(builtinTools).sort());
  expect(membersOf(face.capabilities)).toEqual(Object.keys(capabilityMembers).sort());
  expect(membersOf(face.memory)).toEqual(Object.keys(memoryMembers).sort());
});

it('methods can be taken out of a face', async () => {
  const kernel = await openKernel();
  const pid = await kernel.processes.spawn();
  const { spawnChild, children, memory } = kernel.as(pid);
  const { create, read } = memory;
  const child = await spawnChild();
  expect((await children()).map((row) => row.pid)).toEqual([child]);
  expect((await read(await create({ type: 'claim', payload: 1 }))).payload).toBe(1);
  const { wait, exit } = kernel.processes;
  await exit(child, { result: 2 });
  expect((await wait(pid, child)).value).toBe(2);
});

it('a call that cannot be made is rejected, and does not throw', async () => {
  const kernel = await openKernel();
  const face = kernel.as(await kernel.processes.spawn());
  const calls = [face.spawnChild(1 as never), face.memory.read(1 as never), kernel.processes.get(1 as never)];
  for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

it('the tools that offer syscalls to models exist', async () => {
  const kernel = await openKernel();
  const known = new Set((await kernel.tools.list()).map(({ name }) => name));
  const offered = Object.values(builtinTools).filter((name) => name !== null);
  expect(offered.filter((name) => !known.has(name))).toEqual([]);
});
