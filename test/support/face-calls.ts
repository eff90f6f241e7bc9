import type { Pid, ProcessFace } from '../../src/index.js';

/** Calls that act, each for a process with a live and an ended child, a message, and `call` on tool:echo to hand on. */
export const acts: Record<string, (face: ProcessFace, ids: { child: Pid; ended: Pid }) => Promise<unknown>> = {
  spawnChild: (face) => face.spawnChild({}),
  fork: (face) => face.fork({}),
  exec: (face) => face.exec({ image: 'worker' }),
  exit: (face) => face.exit(),
  wait: (face, { ended }) => face.wait(ended),
  waitAny: (face) => face.waitAny(),
  waitAll: (face, { ended }) => face.waitAll([ended]),
  receive: (face) => face.receive(),
  send: (face, { child }) => face.send(child, 'x'),
  pause: (face, { child }) => face.pause(child),
  resume: (face, { child }) => face.resume(child),
  cancel: (face, { child }) => face.cancel(child),
  kill: (face, { child }) => face.kill(child),
  'tools.call': (face) => face.tools.call('echo', { a: 1 }),
  run: (face) => face.run({ argv: ['true'] }).catch((error) => error.code),
  'memory.create': (face) => face.memory.create({ type: 'artifact', payload: 1 }),
  charge: (face) => face.charge({ tokens: 1 }),
  reserve: (face) => face.reserve({ tokens: 1 }),
  chdir: (face) => face.chdir('.').catch((error) => error.code),
  'capabilities.delegate': (face, { child }) =>
    face.capabilities.delegate(child, { resource: 'tool:echo', rights: ['call'] }),
  'capabilities.derive': (face) => face.capabilities.derive({ resource: 'tool:echo', rights: ['call'] }),
  'capabilities.require': (face) => face.capabilities.require('call', 'tool:echo'),
};

/** Calls that only look. */
export const looks: Record<string, (face: ProcessFace, ids: { child: Pid; goal: string }) => Promise<unknown>> = {
  children: (face) => face.children(),
  parent: (face) => face.parent(),
  budget: (face) => face.budget(),
  'tools.list': (face) => face.tools.list(),
  'memory.read': (face, { goal }) => face.memory.read(goal),
  'memory.query': (face) => face.memory.query(),
  'memory.view': (face) => face.memory.view(),
  'memory.history': (face, { goal }) => face.memory.history(goal),
  'memory.links': (face, { goal }) => face.memory.links(goal),
  'capabilities.list': (face) => face.capabilities.list(),
  'capabilities.check': (face) => face.capabilities.check('call', 'tool:echo'),
  'capabilities.explain': (face) => face.capabilities.explain('call', 'tool:echo'),
};
