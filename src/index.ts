/// <reference lib="esnext.disposable" preserve="true" />
/** The public API of procura. */
export type { AuditFilter } from './audit/audit-filter.js';
export type { AuditLog } from './audit/audit-log.js';
export type { AuditRecord } from './audit/audit-record.js';
export type { Checkpoint } from './audit/checkpoint/checkpoint.js';
export { CheckpointSink, type PublishedCheckpoint } from './audit/checkpoint/checkpoint-sink.js';
export { Signer } from './audit/checkpoint/signer.js';
export {
  type ConsistencyProof,
  type InclusionProof,
  verifyConsistency,
  verifyInclusion,
} from './audit/merkle/merkle-proof.js';
export type { AuthorityApproval, AuthorityLink, AuthorityTrace } from './audit/query/authority-trace.js';
export type { Lineage, LineageCapability, LineageProcess } from './audit/query/lineage.js';
export type { ProvenanceGraph, ProvenanceNode } from './audit/query/provenance.js';
export type { VerifyReport } from './audit/verify/verify-report.js';
export { Clock, type ClockTimers } from './base/clock.js';
export { Entropy } from './base/entropy.js';
export type { KernelErrorCode } from './base/error/error-codes.js';
export {
  AuditError,
  BudgetError,
  CapabilityError,
  InputError,
  KernelError,
  MemoryError,
  ProcessError,
  StoreError,
  ToolError,
} from './base/errors.js';
export {
  type ApprovalId,
  type CapabilityId,
  type IdKind,
  IdSource,
  idPrefixes,
  type NodeId,
  type ObjectId,
  type Pid,
  type QuestionId,
  type ReservationId,
  type RuleId,
} from './base/ids.js';
export type { JsonObject, JsonValue } from './base/json.js';
export { Logger } from './base/logger.js';
export type { Page } from './base/page.js';
export type { FromSchema } from './base/schema/from-schema.js';
export type { JsonSchema } from './base/schema/json-schema.js';
export { jsonSchemaOf } from './base/schema/json-schema-of.js';
export type { Schema, SchemaInput, SchemaOutput, StandardSchema } from './base/schema/schema-types.js';
export { validateValue } from './base/schema/validate-value.js';
export { type Channel, type ReadTx, Store, type WriteTx } from './base/store.js';
export type { Token } from './base/token.js';
export type {
  Approval,
  ApprovalDecision,
  ApprovalScope,
  ApprovalStatus,
  EditedArguments,
} from './capability/approval/approval.js';
export { type ApprovalFilter, ApprovalQueue } from './capability/approval/approval-queue.js';
export { CapabilityManager } from './capability/capability-manager.js';
export type { Atom, Constraints } from './capability/constraint/atoms.js';
export type { Decision, DecisionCode, Explanation, NearMiss } from './capability/decision/decision.js';
export type {
  Capability,
  CapabilitySpec,
  CapabilityStatus,
  DelegationSpec,
  Resources,
} from './capability/holding/capability.js';
export type { ProcessCapabilities } from './capability/process-capabilities.js';
export { type Right, rights } from './capability/resource/rights.js';
export { FilePlaces } from './capability/resource/workspace-files.js';
export type { Rule, RuleSpec } from './capability/rule/rule.js';
export type { RevocationReport } from './capability/syscalls/revoke.js';
export type { KernelContainer } from './container.js';
export type { Kernel, ShutdownReport } from './create-kernel.js';
export type { EventData, EventType, KernelEvent, UserEventType } from './events/event.js';
export {
  EventBus,
  type EventFilter,
  type EventListener,
  type EventListOptions,
  type EventStreamOptions,
} from './events/event-bus.js';
export {
  type Budget,
  type BudgetLine,
  type BudgetReport,
  budgetDimensions,
  type ReserveOptions,
  type Usage,
} from './kernel/budget/budget.js';
export type { AdoptedCheckpoint, AdoptedEnd, AdoptedProcess, AdoptSpec } from './kernel/command/adoption.js';
export type {
  CommandHandle,
  CommandResult,
  CommandSpec,
  Environment,
  EnvMode,
  SecretReference,
} from './kernel/command/command.js';
export type { OutputMatch, OutputPart, ReadOutputOptions, WaitOutputOptions } from './kernel/command/command-ports.js';
export type { OpenToolCall as OpenCall } from './kernel/face/open-tool-call.js';
export type { ProcessFace, RunCommand } from './kernel/face/process-face.js';
export { childFace, limitPauses } from './kernel/face/process-faces.js';
export { ProcessManager } from './kernel/face/process-manager.js';
export type {
  ChildSpec,
  ExecSpec,
  ExitSpec,
  ForkSpec,
  SpawnSpec,
  ViewSpec,
  WaitOptions,
} from './kernel/face/process-specs.js';
export type {
  EditedCall,
  Effect,
  ProcessTools,
  ToolArgs,
  ToolCallOptions,
  ToolInfo,
  ToolOutput,
  TypedTool,
} from './kernel/face/process-tools.js';
export type { HostTypedCalls, OwnTypedCalls, ResultOf, ResultsOf } from './kernel/face/typed-calls.js';
export type {
  CallParameters,
  ChildSpecOf,
  ExecSpecOf,
  ForkSpecOf,
  PidOf,
  SpawnSpecOf,
} from './kernel/face/typed-specs.js';
export type { RootDefaults } from './kernel/lifecycle/root-defaults.js';
export type { SpawnFacts } from './kernel/lifecycle/spawn-gate.js';
export type { Message, MessageBody, ReceiveOptions } from './kernel/message/message.js';
export type { HostIdentity } from './kernel/node/node-repository.js';
export type {
  AdoptedFacts,
  CommandFacts,
  OnBudget,
  OnParentExit,
  Outcome,
  OutcomeKind,
  OwnerKeys,
  ProcessCounts,
  ProcessKind,
  ProcessRecord,
  ProcessResult,
  ProcessStatus,
  ProcessTree,
  Progress,
  StopOrder,
  TerminalStatus,
  WaitFacet,
} from './kernel/process/process.js';
export type { ProcessFilter } from './kernel/process/process-filter.js';
export type { ImageArgs, ImageOutput, ImageReference, TypedImage } from './kernel/process/typed-image.js';
export type { AskOptions, QuestionStatus, UserQuestion } from './kernel/question/question.js';
export { type QuestionFilter, QuestionQueue } from './kernel/question/question-queue.js';
export {
  controlSignals,
  type Refusal,
  type SignalName,
  type SignalOptions,
  type SignalReport,
  type SignalScope,
} from './kernel/signal/signal.js';
export type { JournalEntry, JournalOptions } from './kernel/syscalls/history.js';
export type { LogLine } from './kernel/syscalls/logs.js';
export { isKernelError, type KernelErrorFacts, type KernelErrorOf } from './kernel-errors.js';
export type { KernelModule, KernelOptions } from './kernel-options.js';
export { createKernel, migrateStore } from './load-kernel.js';
export type { JsonPatch, JsonPatchOperation } from './memory/json-patch.js';
export type { ObjectInfo, ObjectVersion, StoredObject } from './memory/object/object.js';
export {
  type Link,
  ObjectHandle,
  type ObjectRef,
  type ObjectType,
  objectTypes,
  type Relation,
  type Source,
} from './memory/object/object.js';
export {
  type LinksOptions,
  type MaterializeOptions,
  type ObjectFilter,
  type ObjectListFilter,
  ObjectMemory,
  type ObjectSpec,
  type ProcessMemory,
  type ReadOptions,
  type UpdateOptions,
} from './memory/object-memory.js';
export type { ContextOrder } from './memory/rendering.js';
export type { DiffSide } from './memory/syscalls/diff.js';
export type { MemoryView } from './memory/syscalls/find.js';
export type { ManifestEntry, ManifestReason, MaterializedContext } from './memory/syscalls/materialize.js';
export { Tokenizer } from './memory/tokens/tokenizer.js';
export type { MergeConflict, MergePolicy, MergeResult, MergeSide, SkipReason } from './memory/view/merge-plan.js';
export type { MigrateOptions, MigrateReport } from './migrate-store.js';
export type { AgentPart, AgentUsage, Reply, TurnPart } from './runtime/agent/agent-part.js';
export { AgentService, type SayOptions } from './runtime/agent/agent-service.js';
export type { AgentTurns, CommitTurnOptions } from './runtime/agent/body-turns.js';
export type { CommandProgram } from './runtime/image/command-program.js';
export {
  type CommandImageSpec,
  commandImage,
  defineImage,
  defineSupervisor,
  type ExternalImageSpec,
  externalImage,
  type Image,
  type ImageResult,
  type ImageSpec,
  type SupervisorSpec,
} from './runtime/image/image.js';
export { ImageRegistry } from './runtime/image/image-registry.js';
export {
  defineSteps,
  type FirstStep,
  type StepSettings,
  type StepsOptions,
  type StepsSpec,
  type TypedSteps,
} from './runtime/image/steps-image.js';
export type { RecoveryReport } from './runtime/node/recovery-report.js';
export type { CommandMarks } from './runtime/os/command-marks.js';
export { OsGroups, type StartedProcess } from './runtime/os/os-groups.js';
export { OsProcesses } from './runtime/os/os-processes.js';
export { type OsProgram, OsPrograms, type OwnProgram } from './runtime/os/os-programs.js';
export type { OsProcess, ProcessSweep } from './runtime/os/process-sweep.js';
export type { Syscalls } from './runtime/run/body-syscalls.js';
export { RecordedRun, type RecordedRunEnd } from './runtime/run/recorded-run.js';
export { RunEnded } from './runtime/run/run-errors.js';
export type { RetryPolicy } from './runtime/step/retry.js';
export type { StepSpec } from './runtime/step/step-list.js';
export type { StepOptions } from './runtime/step/steps.js';
export type { RestartRule, RestartStrategy, SupervisedChild, Supervision } from './runtime/supervision/supervision.js';
export type { McpConnection, McpEndpoint, McpProgram, McpTarget } from './tools/mcp/mcp-target.js';
export {
  type ApprovalFacts,
  defineTool,
  type ExternalTool,
  type ExternalToolSpec,
  externalTool,
  type Tool,
  type ToolContext,
  type ToolPlace,
  type ToolResource,
  type ToolSpec,
} from './tools/tool.js';
export { ToolBroker } from './tools/tool-broker.js';

declare global {
  /** Of the DOM or of Node: this part lets programs compile that mention the types of neither. */
  interface AbortSignal {
    readonly aborted: boolean;
  }
}
