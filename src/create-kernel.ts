import type { Container } from 'inversify';
import { z } from 'zod';
import { AuditLog } from './audit/audit-log.js';
import { AuditRepository } from './audit/audit-repository.js';
import { Checkpoints } from './audit/checkpoint/checkpoints.js';
import { AuditVerifier } from './audit/verify/audit-verifier.js';
import { AuditWriter } from './audit/writing/audit-writer.js';
import { Inspections } from './audit/writing/inspections.js';
import { Refusals } from './audit/writing/refusals.js';
import { Clock } from './base/clock.js';
import { Entropy, SeededEntropy } from './base/entropy.js';
import { type InputError, invalidInput, StoreError } from './base/errors.js';
import type { NodeId, Pid } from './base/ids.js';
import type { JsonObject, JsonValue } from './base/json.js';
import { Logger } from './base/logger.js';
import { NodeIdentity } from './base/node-identity.js';
import { amount, parseSpec } from './base/spec.js';
import { StderrLogger } from './base/stderr-logger.js';
import { Store } from './base/store.js';
import { ApprovalQueue } from './capability/approval/approval-queue.js';
import { ApprovalWatch } from './capability/approval/approval-watch.js';
import { CapabilityManager } from './capability/capability-manager.js';
import { RevocationSweep } from './capability/holding/revocation-sweep.js';
import { CommandService } from './command/command-service.js';
import { buildContainer, type KernelContainer, prepareFiles, publicContainer, withStateFolder } from './container.js';
import { EventBus, LogEventBus } from './events/event-bus.js';
import { EventFeed } from './events/event-feed.js';
import { EventOutbox } from './events/event-outbox.js';
import { EventRepository } from './events/event-repository.js';
import { type ProcessFace } from './kernel/face/process-face.js';
import { ProcessFaces } from './kernel/face/process-faces.js';
import { ProcessManager } from './kernel/face/process-manager.js';
import type { SpawnSpec } from './kernel/face/process-specs.js';
import type { CallParameters } from './kernel/face/typed-specs.js';
import { graceMsDefault } from './kernel/lifecycle/process-ends.js';
import { ProcessTimers } from './kernel/lifecycle/process-timers.js';
import type { ImageOutput, ImageReference } from './kernel/process/typed-image.js';
import { QuestionQueue } from './kernel/question/question-queue.js';
import { AgentWatch, ExitWatch, InboxWatch, ResumeWatch } from './kernel/waiting/process-watch.js';
import { type KernelOptions, type ParsedOptions, parseOptions } from './kernel-options.js';
import { ObjectMemory } from './memory/object-memory.js';
import { TokenCounter } from './memory/tokens/token-counter.js';
import { AgentService } from './runtime/agent/agent-service.js';
import { AgentStreams } from './runtime/agent/agent-stream.js';
import { ImageRegistry } from './runtime/image/image-registry.js';
import { DueWork } from './runtime/node/due-work.js';
import { Executor } from './runtime/node/executor.js';
import { NodeLease, type RelinquishedProcesses } from './runtime/node/node-lease.js';
import { Recovery } from './runtime/node/recovery.js';
import type { RecoveryReport } from './runtime/node/recovery-report.js';
import { BuiltinTools } from './tools/builtin/builtin-tools.js';
import { loadMcpPackage } from './tools/mcp/mcp-package.js';
import { McpServers } from './tools/mcp/mcp-servers.js';
import { ToolBroker } from './tools/tool-broker.js';

/** An open kernel. Everything a call has acknowledged is on disk; `shutdown` signs the log and closes the store. */
export interface Kernel extends AsyncDisposable {
  /** The node of this kernel. */
  readonly nodeId: NodeId;
  /** The processes of lost kernels that this one has recovered since it was opened. */
  readonly recovery: RecoveryReport;
  /** Creates, watches, signals and ends processes. */
  readonly processes: ProcessManager;
  /** Grants, delegates and revokes authority, and sets rules. */
  readonly capabilities: CapabilityManager;
  /** Objects of all processes. */
  readonly memory: ObjectMemory;
  /** The feed of events. */
  readonly events: EventBus;
  /** The audit log. */
  readonly audit: AuditLog;
  /** The requests that wait for the answer of a person. */
  readonly approvals: ApprovalQueue;
  /** The questions of processes to people. */
  readonly questions: QuestionQueue;
  /** Talks with agents, and streams what they say. */
  readonly agents: AgentService;
  /** The images that this kernel can run. */
  readonly images: ImageRegistry;
  /** The tools that processes can call. */
  readonly tools: ToolBroker;
  /** The services of this kernel, and what the modules of its options have bound. */
  readonly container: KernelContainer;
  /** The face of one process, which acts with the authority of that process. */
  as(pid: Pid): ProcessFace;
  /**
   * Runs an image as a root process and answers with the value of its result: for scripts and tests. Throws PROCESS_FAILED,
   * with the outcome among its facts, for one that did not exit, and as `processes.spawn`.
   *
   * @example const { square } = await kernel.run(squareImage, { n: 3 });
   */
  run<Im extends ImageReference>(image: Im, ...parameters: CallParameters<Im, SpawnSpec>): Promise<ImageOutput<Im>>;
  /**
   * Begins to claim processes, where that was left for later with `node: { start: false }`; once started, it does nothing.
   * Throws INVALID_INPUT for a kernel that runs no processes, KERNEL_CLOSED.
   */
  start(): Promise<void>;
  /** Resolves when nothing is runnable or running on this node. Throws WAIT_TIMEOUT. */
  idle(options?: { timeoutMs?: number }): Promise<void>;
  /**
   * Brings bodies to a point where another kernel can continue them, within `graceMs` (5 s), signs the log and closes the
   * store. It is no cancellation: processes that can run again are released, and only those that never run twice end.
   */
  shutdown(options?: { graceMs?: number }): Promise<ShutdownReport>;
}

/** The processes that a kernel did not finish. */
export interface ShutdownReport extends RelinquishedProcesses {
  /** Processes whose bodies still ran when the grace was over; their calls are refused from then on. */
  readonly fenced: readonly Pid[];
}

/**
 * Opens a kernel, creating or migrating the database. Throws INVALID_INPUT, STORE_*, SCHEMA_NEWER, AUDIT_BROKEN,
 * MISSING_PACKAGE when the package for MCP servers is not installed.
 *
 * @example
 * const kernel = await createKernel({ store: 'agents.db' });
 * const root = await kernel.processes.spawn({ goal: 'Write the report', budget: { children: 10 } });
 */
export async function createKernel(rawOptions: KernelOptions = {}): Promise<Kernel> {
  const parsed = parseOptions(rawOptions);
  if (parsed.mcp.size > 0) await loadMcpPackage();
  const options = await withStateFolder(parsed);
  const container = buildContainer(options);
  const store = container.get(Store);
  await store.open();
  try {
    prepareFiles(container, options);
    await boot(container, options);
  } catch (error) {
    await store.close();
    throw error;
  }
  return new OpenKernel(container, options);
}

/** Continues time, ids and feed from the state of the store, and verifies the log before anything is added to it. */
async function boot(container: Container, options: ParsedOptions): Promise<void> {
  const store = container.get(Store);
  const events = container.get(EventRepository);
  const { size, newestAt } = await store.read(async (tx) => ({
    size: (await container.get(AuditRepository).head(tx))?.seq ?? 0,
    newestAt: await events.newestAt(tx),
  }));
  const entropy = container.get(Entropy);
  if (entropy instanceof SeededEntropy) entropy.restart(size);
  warnOfTime(container, newestAt);
  container.get(Clock).advanceTo(newestAt);
  for (const image of options.images) container.get(ImageRegistry).register(image);
  const tools = [...container.get(BuiltinTools).all(), ...options.tools];
  for (const tool of tools) container.get(ToolBroker).register(tool);
  await container.get(EventFeed).start();
  if (options.logger === 'debug') logEvents(container);
  if (options.readOnly) return;
  await container.get(AuditVerifier).verifyTail();
  await container.get(Checkpoints).start();
  await recordNodeStart(container, options);
  await container.get(TokenCounter).start();
  if (options.node.executor) {
    await container.get(NodeLease).acquire();
    await container.get(Recovery).start();
    await container.get(ProcessTimers).start();
    await container.get(RevocationSweep).start();
  }
  await container.get(McpServers).connectAll(options.mcp, options.mcpWaitMs);
  if (options.node.executor && options.node.start) await startClaiming(container);
}

async function startClaiming(container: Container): Promise<void> {
  await container.get(Executor).open();
  await container.get(CommandService).start();
}

/** Tells every event that is committed here. */
function logEvents(container: Container): void {
  const logger = container.get<Logger>(Logger);
  if (!(logger instanceof StderrLogger)) return;
  container.get(EventBus).on('*', ({ seq, type, pid, data }) => {
    logger.debug({ ...(pid === undefined ? {} : { pid }), ...(data as JsonObject) }, `event ${seq} ${type}`);
  });
}

/** The kernel continues from the newest time in its store, so that deadlines and expiries are that far ahead as well. */
function warnOfTime(container: Container, newestAt: number): void {
  const aheadMs = newestAt - container.get(Clock).peek();
  if (aheadMs <= aheadMsMax) return;
  const message = "the store is ahead of the machine's clock, and the time of this kernel with it";
  container.get<Logger>(Logger).warn({ aheadMs, newestAt }, message);
}

const aheadMsMax = 3_600_000;

async function recordNodeStart(container: Container, { node }: ParsedOptions): Promise<void> {
  const at = container.get(Clock).now();
  const { nodeId, operator } = container.get(NodeIdentity);
  await container.get(Store).write(async (tx) => {
    await container.get(TokenCounter).settle(tx);
    container.get(EventOutbox).append(tx, { type: 'node.started', at, data: { name: node.name ?? '' } });
    const record = {
      actor: 'host',
      via: `host:${operator}`,
      at,
      action: 'node.start',
      outcome: 'ok',
      target: nodeId,
    } as const;
    container.get(AuditWriter).append(tx, record);
  });
}

const idleOptions = z.strictObject({ timeoutMs: amount.optional() });
const shutdownOptions = z.strictObject({ graceMs: amount.default(graceMsDefault) });

class OpenKernel implements Kernel {
  readonly nodeId: NodeId;
  readonly processes: ProcessManager;
  readonly capabilities: CapabilityManager;
  readonly memory: ObjectMemory;
  readonly events: EventBus;
  readonly audit: AuditLog;
  readonly approvals: ApprovalQueue;
  readonly questions: QuestionQueue;
  readonly agents: AgentService;
  readonly images: ImageRegistry;
  readonly tools: ToolBroker;
  readonly container: KernelContainer;
  private readonly faces: ProcessFaces;
  /** Present once it claims, or is about to. */
  private starting: Promise<void> | undefined;
  private closing: Promise<ShutdownReport> | undefined;
  /** Present where the clock is moved by hand. */
  private readonly clockTimers: Disposable | undefined;

  constructor(
    private readonly services: Container,
    private readonly options: ParsedOptions,
  ) {
    this.container = publicContainer(services);
    this.nodeId = services.get(NodeIdentity).nodeId;
    this.processes = services.get(ProcessManager);
    this.capabilities = services.get(CapabilityManager);
    this.memory = services.get(ObjectMemory);
    this.events = services.get(EventBus);
    this.audit = services.get(AuditLog);
    this.approvals = services.get(ApprovalQueue);
    this.questions = services.get(QuestionQueue);
    this.agents = services.get(AgentService);
    this.images = services.get(ImageRegistry);
    this.tools = services.get(ToolBroker);
    this.faces = services.get(ProcessFaces);
    if (!options.readOnly) this.clockTimers = services.get(Clock).attachTimers(services.get(DueWork));
    if (options.node.start) this.starting = Promise.resolve();
  }

  get recovery(): RecoveryReport {
    return this.services.get(Recovery).report;
  }

  as(pid: Pid): ProcessFace {
    return this.faces.of(pid);
  }

  async run<Im extends ImageReference>(
    image: Im,
    ...[args, spec]: CallParameters<Im, SpawnSpec>
  ): Promise<ImageOutput<Im>> {
    const given: SpawnSpec = { ...spec, image, ...(args === undefined ? {} : { args: args as JsonValue }) };
    return (await this.processes.value(await this.processes.spawn(given))) as ImageOutput<Im>;
  }

  async start(): Promise<void> {
    const { node, readOnly } = this.options;
    if (readOnly || !node.executor) throw withoutExecutor();
    if (this.closing !== undefined) throw kernelClosed();
    this.starting ??= startClaiming(this.services);
    await this.starting;
  }

  async idle(options: unknown = {}): Promise<void> {
    const { timeoutMs } = parseSpec(idleOptions, options, 'options');
    await this.services.get(Executor).idle(timeoutMs);
  }

  async shutdown(options: unknown = {}): Promise<ShutdownReport> {
    const { graceMs } = parseSpec(shutdownOptions, options, 'options');
    this.closing ??= this.close(graceMs);
    return this.closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shutdown();
  }

  private async close(graceMs: number): Promise<ShutdownReport> {
    const { services: container } = this;
    this.clockTimers?.[Symbol.dispose]();
    try {
      const report = await this.stopRuns(graceMs);
      if (this.options.readOnly) return report;
      await container.get(RevocationSweep).waitUntilIdle();
      await container.get(Refusals).close();
      await container.get(Inspections).close();
      await container.get(Checkpoints).close();
      return report;
    } finally {
      await this.release();
    }
  }

  /** Also after a failure: nothing stays open of a store that cannot be used any more. */
  private async release(): Promise<void> {
    const { services: container } = this;
    container.get(LogEventBus).close();
    container.get(AgentStreams).close();
    await container.get(EventFeed).stop();
    await container.get(Store).close();
    container.get(CommandService).dispose();
    container.get(AgentWatch).close();
    container.get(ExitWatch).close();
    container.get(InboxWatch).close();
    container.get(ResumeWatch).close();
    container.get(ApprovalWatch).close();
    const logger = container.get<Logger>(Logger);
    if (logger instanceof StderrLogger) logger[Symbol.dispose]();
  }

  /** Bodies are stopped first, while everything that they need still works. */
  private async stopRuns(graceMs: number): Promise<ShutdownReport> {
    const { services: container } = this;
    const { node, readOnly } = this.options;
    const lease = container.get(NodeLease);
    await this.starting;
    const fenced = node.executor && !readOnly ? await container.get(Executor).close(graceMs) : [];
    await container.get(McpServers).close();
    const commands = await container.get(CommandService).close(graceMs);
    if (node.executor && !readOnly) {
      await container.get(ProcessTimers).stop();
      await container.get(Recovery).stop();
    }
    const { released, abandoned, stopped } = await lease.close();
    return {
      released: [...released, ...commands.released],
      abandoned: [...abandoned, ...commands.abandoned],
      stopped: [...stopped, ...commands.stopped],
      fenced,
    };
  }
}

function withoutExecutor(): InputError {
  const hint = 'Open it for writing, with an executor; node: { start: false } leaves the start for later.';
  return invalidInput('kernel.start', 'this kernel runs no processes', hint);
}

function kernelClosed(): StoreError {
  return new StoreError('KERNEL_CLOSED', 'The kernel has been shut down.', {
    hint: 'Open another one with createKernel.',
  });
}
