import type { ProcessCapabilities } from '../../capability/process-capabilities.js';
import type { ProcessMemory } from '../../memory/object-memory.js';
import { type Calls, handle, nothing, plain } from './calls.js';
import type { Run } from './run.js';

/** The memory of a run: what changes something is done once, what reads is read anew. */
export function journalledMemory(calls: Calls, run: Run): ProcessMemory {
  return {
    create: async (spec) =>
      calls.journalled(run, 'memory.create', String(spec?.name ?? spec?.type), handle, ({ memory }) =>
        memory.create(spec),
      ),
    update: async (ref, payload, options) =>
      calls.journalled(run, 'memory.update', idOf(ref), handle, ({ memory }) => memory.update(ref, payload, options)),
    delete: async (ref) =>
      calls.journalled(run, 'memory.delete', idOf(ref), nothing, ({ memory }) => memory.delete(ref)),
    link: async (from, to, relation) =>
      calls.journalled(run, 'memory.link', idOf(from), nothing, ({ memory }) => memory.link(from, to, relation)),
    share: async (to, ref, rights) =>
      calls.journalled(run, 'memory.share', idOf(ref), handle, ({ memory }) => memory.share(to, ref, rights)),
    addToView: async (ref) =>
      calls.journalled(run, 'memory.addToView', idOf(ref), nothing, ({ memory }) => memory.addToView(ref)),
    removeFromView: async (ref) =>
      calls.journalled(run, 'memory.removeFromView', idOf(ref), nothing, ({ memory }) => memory.removeFromView(ref)),
    merge: async (child, policy) =>
      calls.journalled(run, 'memory.merge', String(child), plain(), ({ memory }) => memory.merge(child, policy)),
    read: async (ref, options) => calls.live(run, ({ memory }) => memory.read(ref, options)),
    links: async (ref, options) => calls.live(run, ({ memory }) => memory.links(ref, options)),
    diff: async (a, b) => calls.live(run, ({ memory }) => memory.diff(a, b)),
    history: async (ref) => calls.live(run, ({ memory }) => memory.history(ref)),
    lookup: async (name, namespace) => calls.live(run, ({ memory }) => memory.lookup(name, namespace)),
    query: async (filter) => calls.live(run, ({ memory }) => memory.query(filter)),
    view: async () => calls.live(run, ({ memory }) => memory.view()),
    materialize: async (options) => calls.live(run, ({ memory }) => memory.materialize(options)),
  };
}

/** The authority of a run, in the same way. */
export function journalledCapabilities(calls: Calls, run: Run): ProcessCapabilities {
  return {
    require: async (right, resource, args) =>
      calls.journalled(run, 'require', String(resource), plain(), (face) =>
        face.capabilities.require(right, resource, args),
      ),
    request: async (spec, options) =>
      calls.journalled(run, 'request', String(spec?.resource), plain(), (face) =>
        face.capabilities.request(spec, options),
      ),
    derive: async (spec) =>
      calls.journalled(run, 'derive', String(spec?.resource), plain(), (face) => face.capabilities.derive(spec)),
    delegate: async (to, spec) =>
      calls.journalled(run, 'delegate', String(to), plain(), (face) => face.capabilities.delegate(to, spec)),
    revoke: async (capability, options) =>
      calls.journalledAfter(run, 'revoke', String(capability), (face) => face.capabilities.revoke(capability, options)),
    list: async () => calls.live(run, (face) => face.capabilities.list()),
    check: async (right, resource, args) => calls.live(run, (face) => face.capabilities.check(right, resource, args)),
    explain: async (right, resource, args) =>
      calls.live(run, (face) => face.capabilities.explain(right, resource, args)),
  };
}

function idOf(ref: unknown): string {
  return typeof ref === 'object' && ref !== null && 'id' in ref ? String(ref.id) : String(ref);
}
