import { ContainerModule } from 'inversify';
import { ProvenanceQuery } from '../audit/query/provenance.js';
import { MemoryRecorder } from './memory-recorder.js';
import { ObjectAccess } from './object/object-access.js';
import { ObjectProvenance } from './object/object-provenance.js';
import { ObjectWriter, PayloadParser } from './object/object-writer.js';
import { OrphanedObjects } from './object/orphaned-objects.js';
import { VersionWriter } from './object/version-writer.js';
import { hostMemory, MemorySyscalls, ObjectMemory } from './object-memory.js';
import { ChangeObjects } from './syscalls/change.js';
import { ChangeView } from './syscalls/change-view.js';
import { CreateObject } from './syscalls/create.js';
import { DiffObjects } from './syscalls/diff.js';
import { FindObjects } from './syscalls/find.js';
import { InspectObjects } from './syscalls/inspect.js';
import { Materialize } from './syscalls/materialize.js';
import { MergeChild } from './syscalls/merge.js';
import { ReadObject } from './syscalls/read.js';
import { ShareObject } from './syscalls/share.js';
import { SweepObjects } from './syscalls/sweep.js';
import { UpdateObject } from './syscalls/update.js';
import { GptTokenizer } from './tokens/gpt-tokenizer.js';
import { TokenCounter } from './tokens/token-counter.js';
import { Tokenizer } from './tokens/tokenizer.js';
import { LastingReads } from './view/lasting-reads.js';
import { MergePlanner } from './view/merge-plan.js';
import { ViewLimits } from './view/view-limits.js';
import { Views } from './view/views.js';
import { VisibleVersions } from './view/visible-versions.js';

export const memoryModule = new ContainerModule(({ bind }) => {
  const parts = [
    MemorySyscalls,
    MemoryRecorder,
    LastingReads,
    MergePlanner,
    ViewLimits,
    ObjectAccess,
    ObjectWriter,
    OrphanedObjects,
    PayloadParser,
    TokenCounter,
    VisibleVersions,
    Views,
    VersionWriter,
  ];
  const operations = [
    ChangeObjects,
    ChangeView,
    CreateObject,
    DiffObjects,
    FindObjects,
    InspectObjects,
    Materialize,
    MergeChild,
    ReadObject,
    ShareObject,
    SweepObjects,
    UpdateObject,
  ];
  for (const part of [...parts, ...operations]) bind<object>(part).toSelf();
  bind(Tokenizer).to(GptTokenizer);
  bind(ObjectMemory).toDynamicValue(({ get }) =>
    hostMemory(get(MemorySyscalls), get(SweepObjects), get(InspectObjects)),
  );
  bind(ProvenanceQuery).to(ObjectProvenance);
});
