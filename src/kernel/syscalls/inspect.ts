import { inject, injectable } from 'inversify';
import { Store } from '../../base/store.js';
import { namespaceOf, type StoredObject } from '../../memory/object/object.js';
import { InspectObjects } from '../../memory/syscalls/inspect.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { parsePid } from '../specs.js';

/** The name of the object, in the namespace of a process, that is its transcript. */
const transcriptName = 'transcript';

/** Reads of the host about one process, live or ended. Each is on record. */
@injectable()
export class InspectProcess {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(InspectObjects) private readonly objects: InspectObjects,
  ) {}

  /** Throws NO_SUCH_PROCESS. */
  async goal(input: unknown): Promise<StoredObject> {
    const { pid, goal } = await this.getRow(input);
    return this.objects.inspect('process.goal', goal, pid);
  }

  /** Undefined where the process keeps none. Throws NO_SUCH_PROCESS. */
  async transcript(input: unknown): Promise<StoredObject | undefined> {
    const { pid, goal } = await this.getRow(input);
    const found = await this.objects.findNamed(namespaceOf(pid), transcriptName, pid, goal);
    return found === undefined ? undefined : this.objects.inspect('process.transcript', found, pid);
  }

  private async getRow(input: unknown) {
    const pid = parsePid(input);
    return this.store.read((tx) => this.lookup.get(tx, pid));
  }
}
