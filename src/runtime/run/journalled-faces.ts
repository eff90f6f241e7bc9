import type { ProcessCapabilities } from '../../capability/process-capabilities.js';
import type { ProcessFace } from '../../kernel/face/process-face.js';
import type { ProcessMemory } from '../../memory/object-memory.js';
import { sealedFace } from '../../unit/faces.js';
import { handleAnswer, noAnswer } from './body-calls.js';
import {
  firstArgument,
  type JournallingDeps,
  type Journallings,
  journalled,
  journalledAfter,
  journalledData,
  live,
} from './journalling.js';
import type { Run } from './run.js';

const memoryJournalling: Journallings<ProcessMemory> = {
  create: journalled(([spec]) => String(spec?.name ?? spec?.type), handleAnswer),
  update: journalled(idOf, handleAnswer),
  delete: journalled(idOf, noAnswer),
  link: journalled(idOf, noAnswer),
  share: journalled(([, ref]) => idOf([ref]), handleAnswer),
  addToView: journalled(idOf, noAnswer),
  removeFromView: journalled(idOf, noAnswer),
  merge: journalledData(firstArgument),
  read: live(),
  links: live(),
  diff: live(),
  history: live(),
  lookup: live(),
  query: live(),
  view: live(),
  materialize: live(),
};

const capabilityJournalling: Journallings<ProcessCapabilities> = {
  require: journalledData(([, resource]) => String(resource)),
  request: journalledData(([spec]) => String(spec?.resource)),
  derive: journalledData(([spec]) => String(spec?.resource)),
  delegate: journalledData(firstArgument),
  revoke: journalledAfter(firstArgument),
  list: live(),
  check: live(),
  explain: live(),
};

/** The memory of a run: changes are journalled, reads are live. */
export function journalledMemory(deps: JournallingDeps, run: Run): ProcessMemory {
  return journalledFace(deps, run, memoryJournalling, 'memory.', ({ memory }) => memory);
}

/** The capabilities of a run: changes and checks that use one up are journalled, other reads are live. */
export function journalledCapabilities(deps: JournallingDeps, run: Run): ProcessCapabilities {
  return journalledFace(deps, run, capabilityJournalling, '', ({ capabilities }) => capabilities);
}

type Method = (...args: unknown[]) => Promise<unknown>;

function journalledFace<Face extends object>(
  deps: JournallingDeps,
  run: Run,
  journallings: Journallings<Face>,
  prefix: string,
  part: (face: ProcessFace) => Face,
): Face {
  const face: Partial<Record<keyof Face, Method>> = {};
  for (const name of Object.keys(journallings) as (keyof Face & string)[]) {
    const make = (live: ProcessFace, args: readonly unknown[]) => (part(live)[name] as Method)(...args);
    const kind = prefix + name;
    const journalling = journallings[name] as (deps: JournallingDeps, call: object) => Promise<unknown>;
    face[name] = (...args) => journalling(deps, { run, kind, args, make });
  }
  return sealedFace(face as object as Face);
}

/** Names a call by its first argument, a handle or an id. */
function idOf([ref]: readonly unknown[]): string {
  return typeof ref === 'object' && ref !== null && 'id' in ref ? String(ref.id) : String(ref);
}
