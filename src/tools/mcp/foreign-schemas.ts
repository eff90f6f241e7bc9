import { injectable } from 'inversify';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { keepAlive } from '../../base/keep-alive.js';
import { issueOf, type ValidationResult } from '../../base/schema/json-schema.js';
import type { BoundedSchema } from '../../base/schema/schema.js';
import { type SchemaAnswer, SchemaWorker } from './schema-worker.js';

/** The time that one schema may take to compile. */
const compileMsMax = 2_000;
/** The time that one value may take to validate. */
const validateMsMax = 1_000;
/** The time for values of a schema that has taken too long before: it is compiled again first. */
const suspectValidateMsMax = 500;
const workersMax = 4;
const idleWorkersMax = 2;

/** A schema of a server. */
interface ForeignSchema {
  readonly id: number;
  readonly server: string;
  readonly schema: JsonObject;
  /** Whether it has taken too long before. */
  isSuspect: boolean;
}

interface Job {
  readonly owner: ForeignSchema;
  /** Absent: the schema is only compiled. */
  readonly value?: JsonValue;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (answer: SchemaAnswer | Promise<SchemaAnswer>) => void;
}

/**
 * JSON Schemas that MCP servers have written. They are compiled and applied in threads: a pattern, a reference or a
 * combination that takes too long ends with its thread, and the event loop goes on meanwhile. Each server uses one thread at
 * a time, and servers take turns, so that one with bad schemas cannot keep the others waiting.
 */
@injectable()
export class ForeignSchemas {
  private readonly idle: SchemaWorker[] = [];
  private readonly working = new Set<SchemaWorker>();
  private readonly busyServers = new Set<string>();
  /** The jobs that wait, by server. The server that was served last is the last. */
  private readonly queues = new Map<string, Job[]>();
  private lastId = 0;
  private isClosed = false;

  /** Throws an Error for a schema that cannot be compiled, or not in time, and the reason of `signal`. */
  async compile(server: string, schema: JsonObject, signal?: AbortSignal): Promise<BoundedSchema> {
    const owner: ForeignSchema = { id: ++this.lastId, server, schema, isSuspect: false };
    await this.run({ owner, signal });
    const validateUntil = async (value: unknown, limit: AbortSignal | undefined): Promise<ValidationResult> => {
      const { error } = await this.run({ owner, value: value as JsonValue, signal: limit });
      return error === undefined ? { value } : { issues: [issueOf(error)] };
    };
    const validate = (value: unknown) => validateUntil(value, undefined);
    const standard = { version: 1, vendor: 'json-schema', validate, jsonSchema: { input: () => schema } } as const;
    return { '~standard': standard, validateUntil };
  }

  /** Ends all threads; what is under way and what comes later fails. */
  close(): void {
    this.isClosed = true;
    const waiting = [...this.queues.values()].flat();
    this.queues.clear();
    for (const { resolve } of waiting) resolve({ failure: 'the kernel was shut down' });
    for (const worker of [...this.idle, ...this.working]) worker.terminate();
  }

  private async run(task: Omit<Job, 'resolve'>): Promise<Exclude<SchemaAnswer, { failure: string }>> {
    const { signal } = task;
    signal?.throwIfAborted();
    if (this.isClosed) throw new Error('the kernel was shut down');
    using _alive = keepAlive();
    const answer = await new Promise<SchemaAnswer>((resolve) => this.enqueue({ ...task, resolve }));
    signal?.throwIfAborted();
    if ('failure' in answer) throw new Error(answer.failure);
    return answer;
  }

  private enqueue(job: Job): void {
    const { owner, signal, resolve } = job;
    const queue = this.queues.get(owner.server) ?? [];
    this.queues.set(owner.server, queue);
    const withdraw = () => {
      const index = queue.indexOf(queued);
      if (index >= 0) queue.splice(index, 1);
      resolve({ failure: 'given up' });
    };
    const queued: Job = {
      ...job,
      resolve: (answer) => {
        signal?.removeEventListener('abort', withdraw);
        resolve(answer);
      },
    };
    signal?.addEventListener('abort', withdraw, { once: true });
    queue.push(queued);
    this.assignJobs();
  }

  /** Gives the next job of each server that has none under way to a worker, while there are workers. */
  private assignJobs(): void {
    for (const [server, queue] of [...this.queues]) {
      if (this.working.size >= workersMax) return;
      if (this.busyServers.has(server)) continue;
      this.queues.delete(server);
      const job = queue.shift();
      if (job === undefined) continue;
      if (queue.length > 0) this.queues.set(server, queue);
      const worker = this.idle.pop() ?? new SchemaWorker();
      this.working.add(worker);
      this.busyServers.add(server);
      job.resolve(this.perform(job, worker).finally(() => this.release(server, worker)));
    }
  }

  private async perform({ owner, value, signal }: Job, worker: SchemaWorker): Promise<SchemaAnswer> {
    const limitMs = value === undefined ? compileMsMax : owner.isSuspect ? suspectValidateMsMax : validateMsMax;
    await worker.start();
    if (signal?.aborted === true) return { failure: 'given up' };
    let isLate = false;
    const end = () => worker.terminate();
    const timer = setTimeout(() => {
      isLate = true;
      end();
    }, limitMs);
    signal?.addEventListener('abort', end, { once: true });
    try {
      const task = { schemaId: owner.id, schema: owner.schema };
      const answer = await worker.run(value === undefined ? task : { ...task, value });
      owner.isSuspect ||= isLate;
      return isLate ? { failure: `it took longer than ${limitMs} ms` } : answer;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  }

  private release(server: string, worker: SchemaWorker): void {
    this.busyServers.delete(server);
    this.working.delete(worker);
    if (!worker.hasEnded) this.idle.push(worker);
    if (this.isClosed) worker.terminate();
    else this.assignJobs();
    while (this.idle.length > idleWorkersMax) this.idle.pop()?.terminate();
  }
}
