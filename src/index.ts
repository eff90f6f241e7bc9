/** The public API of procura. */
export type { AuditFilter } from './audit/audit-filter.js';
export type { AuditLog } from './audit/audit-log.js';
export type { AuditRecord } from './audit/audit-record.js';
export type { AuthorityApproval, AuthorityLink, AuthorityTrace } from './audit/authority-trace.js';
export type { Checkpoint } from './audit/checkpoint.js';
export { CheckpointSink, type PublishedCheckpoint } from './audit/checkpoint-sink.js';
export type { Lineage, LineageCapability, LineageProcess } from './audit/lineage.js';
export {
  type ConsistencyProof,
  type InclusionProof,
  verifyConsistency,
  verifyInclusion,
} from './audit/merkle-proof.js';
export type { ProvenanceGraph, ProvenanceNode } from './audit/provenance.js';
export { Signer } from './audit/signer.js';
export type { VerifyReport } from './audit/verify-report.js';
export { Clock } from './base/clock.js';
export { Entropy } from './base/entropy.js';
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
  type NodeId,
  type ObjectId,
  type Pid,
  type ReservationId,
  type RuleId,
} from './base/ids.js';
export type { JsonObject, JsonValue } from './base/json.js';
export { Logger } from './base/logger.js';
export type { Page } from './base/page.js';
export { type Channel, type ReadTx, Store, type WriteTx } from './base/store.js';
export type { Approval, ApprovalDecision, ApprovalScope, ApprovalStatus } from './capability/approval.js';
export { type ApprovalFilter, ApprovalQueue } from './capability/approval-queue.js';
export type { Atom, Constraints } from './capability/atoms.js';
export type { Capability, CapabilitySpec, CapabilityStatus, DelegationSpec } from './capability/capability.js';
export { CapabilityManager } from './capability/capability-manager.js';
export type { Decision, DecisionCode, Explanation, NearMiss } from './capability/decision.js';
export { FilePlaces } from './capability/file-places.js';
export type { RevocationReport } from './capability/operations/revoke.js';
export type { ProcessCapabilities } from './capability/process-capabilities.js';
export { type Right, rights } from './capability/rights.js';
export type { Rule, RuleSpec } from './capability/rule.js';
export { createKernel, type Kernel, type ShutdownReport } from './create-kernel.js';
export type { EventData, EventType, KernelEvent } from './events/event.js';
export { EventBus, type EventFilter, type EventListener } from './events/event-bus.js';
export type { Budget, BudgetLine, BudgetReport, Usage } from './kernel/budget.js';
export type { CommandHandle, CommandResult, CommandSpec, EnvMode } from './kernel/command.js';
export type { OutputMatch, OutputPart, ReadOutputOptions, WaitOutputOptions } from './kernel/command-output.js';
export type { Message, MessageBody, ReceiveOptions } from './kernel/message.js';
export type { HostIdentity } from './kernel/node-repository.js';
export type {
  CommandFacts,
  OnBudget,
  OnParentExit,
  Outcome,
  OutcomeKind,
  OwnerKeys,
  ProcessKind,
  ProcessRecord,
  ProcessResult,
  ProcessStatus,
  ProcessTree,
  Progress,
  TerminalStatus,
  WaitFacet,
} from './kernel/process.js';
export type { ProcessFace, RunCommand } from './kernel/process-face.js';
export type { ProcessFilter } from './kernel/process-filter.js';
export {
  type ChildSpec,
  type ExecSpec,
  type ExitSpec,
  type ForkSpec,
  ProcessManager,
  type SpawnSpec,
  type ViewSpec,
  type WaitOptions,
} from './kernel/process-manager.js';
export type { Refusal, SignalName, SignalOptions, SignalReport, SignalScope } from './kernel/signal.js';
export type { JournalEntry } from './kernel/syscalls/journals.js';
export type { Effect, ProcessTools, ToolCallOptions, ToolInfo } from './kernel/tool-gate.js';
export type { KernelOptions } from './kernel-options.js';
export type { JsonPatch, JsonPatchOperation } from './memory/json-patch.js';
export type { MergeConflict, MergePolicy, MergeResult, MergeSide, SkipReason } from './memory/merge-plan.js';
export { type Link, type ObjectType, objectTypes, type Relation, type Source } from './memory/object.js';
export { ObjectHandle, type ObjectRef } from './memory/object-handle.js';
export {
  type LinksOptions,
  type MaterializeOptions,
  type ObjectFilter,
  ObjectMemory,
  type ObjectSpec,
  type ProcessMemory,
} from './memory/object-memory.js';
export type { DiffSide } from './memory/operations/diff.js';
export type { MemoryView } from './memory/operations/find.js';
export type { ManifestEntry, ManifestReason, MaterializedContext } from './memory/operations/materialize.js';
export type { ContextOrder } from './memory/rendering.js';
export type { ObjectVersion, StoredObject } from './memory/stored-object.js';
export { Tokenizer } from './memory/tokenizer.js';
export { type CommandImageSpec, commandImage } from './runtime/command-image.js';
export type { CommandProgram } from './runtime/command-program.js';
export { OsProcesses } from './runtime/host-identity.js';
export { defineImage, externalImage, type Image, type ImageResult, type ImageSpec } from './runtime/image.js';
export { ImageRegistry } from './runtime/image-registry.js';
export type { JsonSchema } from './runtime/json-schema.js';
export { type GroupMember, OsGroups } from './runtime/os-groups.js';
export type { RecoveryReport } from './runtime/recovery-report.js';
export type { RetryPolicy } from './runtime/retry.js';
export { RunEnded } from './runtime/run-ended.js';
export type { Schema } from './runtime/schema.js';
export type { StandardSchema } from './runtime/standard-schema.js';
export type { StepSpec } from './runtime/step-list.js';
export type { StepOptions } from './runtime/steps.js';
export { defineSteps, type StepsSpec } from './runtime/steps-image.js';
export type { RestartRule, RestartStrategy, SupervisedChild, Supervision } from './runtime/supervision.js';
export { defineSupervisor, type SupervisorSpec } from './runtime/supervisor.js';
export type { Syscalls } from './runtime/syscalls.js';
export type { McpConnection, McpEndpoint, McpProgram, McpTarget } from './tools/mcp/mcp-target.js';
export {
  defineTool,
  type Tool,
  type ToolContext,
  type ToolPlace,
  type ToolResource,
  type ToolSpec,
} from './tools/tool.js';
export { ToolBroker } from './tools/tool-broker.js';
