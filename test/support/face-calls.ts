import { KernelError, type Pid, type ProcessFace } from '../../src/index.js';

/** What `faceFamily` has besides the face. */
interface Ids {
  readonly child: Pid;
  readonly ended: Pid;
  readonly goal: string;
  /** An object of the process itself, which may be changed. */
  readonly own: string;
}

/** The code of a refusal as the answer of the call: it was made, although this process cannot do it. */
const codeOf = (error: unknown) => (error instanceof KernelError ? error.code : Promise.reject(error));

/** Calls that act, each for a process with a live and an ended child, a message, and `call` on tool:echo to hand on. */
export const acts: Record<string, (face: ProcessFace, ids: Ids) => Promise<unknown>> = {
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
  'tools.open': async (face) => (await face.tools.open('outside', {})).settle(1),
  run: (face) => face.run({ argv: ['true'] }).catch(codeOf),
  value: (face, { ended }) => face.value(ended),
  signal: (face, { child }) => face.signal(child, 'user.ready'),
  ask: (face) => face.ask('Is it so?', { choices: ['yes'] }),
  'memory.update': (face, { own }) => face.memory.update(own, 2),
  'memory.delete': (face, { own }) => face.memory.delete(own),
  'memory.link': (face, { own, goal }) => face.memory.link(own, goal, 'supports'),
  'memory.share': (face, { own, child }) => face.memory.share(child, own, ['read']),
  'memory.addToView': (face, { own }) => face.memory.addToView(own),
  'memory.removeFromView': (face, { own }) => face.memory.removeFromView(own),
  'memory.merge': (face, { ended }) => face.memory.merge(ended).catch(codeOf),
  'memory.materialize': (face) => face.memory.materialize({ tokensMax: 100 }),
  'memory.create': (face) => face.memory.create({ type: 'artifact', payload: 1 }),
  charge: (face) => face.charge({ tokens: 1 }),
  reserve: (face) => face.reserve({ tokens: 1 }),
  chdir: (face) => face.chdir('.').catch(codeOf),
  'capabilities.delegate': (face, { child }) =>
    face.capabilities.delegate(child, { resource: 'tool:echo', rights: ['call'] }),
  'capabilities.derive': (face) => face.capabilities.derive({ resource: 'tool:echo', rights: ['call'] }),
  'capabilities.require': (face) => face.capabilities.require('call', 'tool:echo'),
  'capabilities.request': (face) => face.capabilities.request({ resource: 'tool:other', rights: ['call'] }),
  'capabilities.revoke': (face) => face.capabilities.revoke('c_00000000000000000000').catch(codeOf),
};

/** Calls that only look. */
export const looks: Record<string, (face: ProcessFace, ids: Ids) => Promise<unknown>> = {
  children: (face) => face.children(),
  parent: (face) => face.parent(),
  get: (face, { child }) => face.get(child),
  'get of itself': (face) => face.get(face.pid),
  budget: (face) => face.budget(),
  'tools.list': (face) => face.tools.list(),
  'memory.read': (face, { goal }) => face.memory.read(goal),
  'memory.query': (face) => face.memory.query(),
  'memory.view': (face) => face.memory.view(),
  'memory.history': (face, { goal }) => face.memory.history(goal),
  'memory.links': (face, { goal }) => face.memory.links(goal),
  'memory.lookup': (face) => face.memory.lookup('own'),
  'memory.diff': (face, { goal, own }) => face.memory.diff(own, goal),
  'capabilities.list': (face) => face.capabilities.list(),
  'capabilities.check': (face) => face.capabilities.check('call', 'tool:echo'),
  'capabilities.explain': (face) => face.capabilities.explain('call', 'tool:echo'),
};

/**
 * Calls that have tests of their own: about the output of commands, `call`, which is made of a spawn and a wait, and `settle`,
 * which records what has been used already and so never waits.
 */
const otherCalls = ['readOutput', 'waitOutput', 'call', 'settle'];

/** The names of all calls that the tables above have. */
export const tabledCalls: ReadonlySet<string> = new Set([...Object.keys(acts), ...Object.keys(looks), ...otherCalls]);

/** The names of all calls of a face, with those of its parts, such as `tools.call`. */
export function callsOf(face: ProcessFace): string[] {
  return namesIn(face).flatMap((name) => {
    const member: unknown = Reflect.get(face, name);
    if (typeof member === 'function') return [name];
    if (typeof member !== 'object' || member === null) return [];
    return namesIn(member).flatMap((inner) =>
      typeof Reflect.get(member, inner) === 'function' ? [`${name}.${inner}`] : [],
    );
  });
}

function namesIn(value: object): string[] {
  const names = [...Object.getOwnPropertyNames(value), ...Object.getOwnPropertyNames(Object.getPrototypeOf(value))];
  return names.filter((name) => !(name in Object.prototype));
}
