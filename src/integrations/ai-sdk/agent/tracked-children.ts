import { isKernelError, type JsonObject, type JsonValue, type ProcessRecord, type Syscalls } from '../../../index.js';
import type { NamedCall } from './tool-calls.js';

const startingTools: ReadonlySet<string> = new Set(['process.spawn', 'process.fork', 'command.run']);
const endedStatuses: ReadonlySet<string> = new Set(['exited', 'failed', 'killed', 'abandoned']);

/** The children and commands in the background that the model has started, and whose ends it does not know yet. */
export class TrackedChildren {
  private readonly pids: Set<string>;

  constructor(pids: Iterable<string> = []) {
    this.pids = new Set(pids);
  }

  /** Takes up what a turn has started, and forgets what it has waited for. */
  note(calls: readonly NamedCall[], results: readonly object[]): void {
    for (const [index, { tool, input }] of calls.entries()) {
      const { output } = results[index] as { output?: { type?: string; value?: JsonValue } };
      if (output?.type !== 'json') continue;
      const { pid, exitCode } = membersOf(output.value ?? null);
      // The result of a command that was waited for has its exit code.
      if (startingTools.has(tool) && typeof pid === 'string' && exitCode === undefined) this.pids.add(pid);
      if (tool === 'process.wait') this.pids.delete(String(membersOf(input).pid));
    }
  }

  forget(pids: readonly string[]): void {
    for (const pid of pids) this.pids.delete(pid);
  }

  list(): string[] {
    return [...this.pids];
  }
}

/** Those of the children that have ended. To be called in a step. */
export async function findEnded(ctx: Syscalls, pids: readonly string[]): Promise<ProcessRecord[]> {
  const records = await Promise.all(
    pids.map((pid) =>
      ctx.get(pid).catch((error: unknown) => {
        // One that has been pruned, or has another parent now, is none of its children any more.
        if (isKernelError(error)) return undefined;
        throw error;
      }),
    ),
  );
  return records.flatMap((record) => (record !== undefined && endedStatuses.has(record.status) ? [record] : []));
}

function membersOf(value: JsonValue): Record<string, JsonValue | undefined> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...(value as JsonObject) } : {};
}
