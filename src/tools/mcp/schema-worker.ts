import { Worker } from 'node:worker_threads';
import type { ErrorObject } from 'ajv';
import { Deferred } from '../../base/deferred.js';
import { errorText } from '../../base/errors.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { compilerOptions, dialectOf, hasId } from '../../base/schema/json-schema.js';
import { schemaCompilers } from './schema-compilers.js';

/** A piece of work of a worker: to compile the schema, and to validate `value` by it if there is one. */
export interface SchemaTask {
  /** Names the schema among all schemas of the kernel. */
  readonly schemaId: number;
  readonly schema: JsonObject;
  readonly value?: JsonValue;
}

/** The answer to a task: the first error of a value that is not valid, or why the task failed. */
export type SchemaAnswer = { readonly error?: ErrorObject } | { readonly failure: string };

/** The most compiled schemas that a worker keeps. */
const compiledMax = 2_000;
/** Enough for every schema of a usable tool. A worker that needs more ends with an error. */
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

/**
 * The program of the worker. It is a text, so that it is the same whether this module was compiled or not. It answers each
 * task in the order of arrival. Schemas without an `$id` share a compiler, which forgets each after it is compiled.
 */
const program = `${schemaCompilers}
const { parentPort, workerData } = require('node:worker_threads');
const { options } = workerData;
const create = (dialect) => new (dialect === 'draft07' ? Ajv : Ajv2020)(options);
const shared = {};
const compiled = new Map();
function compile({ schemaId, schema, dialect, isPrivate, forget }) {
  compiled.delete(forget);
  const known = compiled.get(schemaId);
  if (known !== undefined) return known;
  if (schema.$async !== undefined) throw new Error('$async is not supported');
  const compiler = isPrivate ? create(dialect) : (shared[dialect] ??= create(dialect));
  try {
    const validate = compiler.compile(schema);
    compiled.set(schemaId, validate);
    return validate;
  } finally {
    if (!isPrivate) compiler.removeSchema(schema);
  }
}
function answer(task) {
  try {
    const validate = compile(task);
    if (!('value' in task) || validate(task.value)) return {};
    return { error: validate.errors[0] };
  } catch (error) {
    return { failure: String(error).slice(0, 500) };
  }
}
parentPort.on('message', (task) => parentPort.postMessage(answer(task)));
parentPort.postMessage('ready');
`;

/** A thread that compiles schemas and validates by them, one task at a time. It does not keep the program running. */
export class SchemaWorker {
  private readonly thread: Worker;
  /** The schemas that the thread has, oldest first: each is sent once. */
  private readonly sent = new Set<number>();
  private readonly ready = new Deferred<void>();
  private pending: Deferred<SchemaAnswer> | undefined;
  private failure: string | undefined;

  constructor() {
    this.thread = new Worker(program, {
      eval: true,
      execArgv: [],
      env: {},
      resourceLimits,
      workerData: { options: compilerOptions },
    });
    this.thread.unref();
    this.thread.on('message', (message: 'ready' | SchemaAnswer) => {
      if (message === 'ready') this.ready.resolve();
      else this.finish(message);
    });
    this.thread.on('error', (error) => this.end(errorText(error)));
    this.thread.on('exit', () => this.end('the worker ended'));
  }

  /** Whether it has ended: by a failure, or because it was terminated. */
  get hasEnded(): boolean {
    return this.failure !== undefined;
  }

  /** Resolves when it can work: starting it does not count as the time of a task. */
  async start(): Promise<void> {
    await this.ready.promise;
  }

  /** Resolves with a failure when the worker ends before it has answered. */
  async run(task: SchemaTask): Promise<SchemaAnswer> {
    if (this.failure !== undefined) return { failure: this.failure };
    const pending = new Deferred<SchemaAnswer>();
    this.pending = pending;
    this.thread.postMessage(this.messageOf(task));
    const answer = await pending.promise;
    if ('failure' in answer) this.sent.delete(task.schemaId);
    return answer;
  }

  /** Ends it in the middle of its work. */
  terminate(): void {
    this.end('the worker was terminated');
    void this.thread.terminate();
  }

  private messageOf({ schema, ...task }: SchemaTask): object {
    if (this.sent.has(task.schemaId)) return task;
    const [forget] = this.sent.size >= compiledMax ? this.sent : [];
    if (forget !== undefined) this.sent.delete(forget);
    this.sent.add(task.schemaId);
    return { ...task, schema, dialect: dialectOf(schema), isPrivate: hasId(schema), forget };
  }

  private finish(answer: SchemaAnswer): void {
    this.pending?.resolve(answer);
    this.pending = undefined;
  }

  private end(failure: string): void {
    this.failure ??= failure;
    this.ready.resolve();
    this.finish({ failure: this.failure });
  }
}
