import { ContainerModule } from 'inversify';
import { ProvenanceQuery } from '../audit/provenance.js';
import { MemoryJournal } from './memory-journal.js';
import { MergePlanner } from './merge-planner.js';
import { Narrowings } from './narrowings.js';
import { ObjectAccess } from './object-access.js';
import { HostObjectMemory, MemoryFaces, ObjectMemory } from './object-memory.js';
import { ObjectProvenance } from './object-provenance.js';
import { Objects } from './objects.js';
import { ChangeObjects } from './operations/change.js';
import { ChangeView } from './operations/change-view.js';
import { CreateObject } from './operations/create.js';
import { DiffObjects } from './operations/diff.js';
import { FindObjects } from './operations/find.js';
import { Materialize } from './operations/materialize.js';
import { MergeChild } from './operations/merge.js';
import { ReadObject } from './operations/read.js';
import { ShareObject } from './operations/share.js';
import { SweepObjects } from './operations/sweep.js';
import { UpdateObject } from './operations/update.js';
import { Payloads } from './payloads.js';
import { ShownVersions } from './shown-versions.js';
import { GptTokenizer, Tokenizer } from './tokenizer.js';
import { Views } from './views.js';
import { Writing } from './writing.js';

export const memoryModule = new ContainerModule(({ bind }) => {
  const parts = [
    MemoryFaces,
    MemoryJournal,
    MergePlanner,
    Narrowings,
    ObjectAccess,
    Objects,
    Payloads,
    ShownVersions,
    Views,
    Writing,
  ];
  const operations = [
    ChangeObjects,
    ChangeView,
    CreateObject,
    DiffObjects,
    FindObjects,
    Materialize,
    MergeChild,
    ReadObject,
    ShareObject,
    SweepObjects,
    UpdateObject,
  ];
  for (const part of [...parts, ...operations]) bind<object>(part).toSelf();
  bind(Tokenizer).to(GptTokenizer);
  bind(ObjectMemory).to(HostObjectMemory);
  bind(ProvenanceQuery).to(ObjectProvenance);
});
