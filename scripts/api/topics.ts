/** A page of the reference, with the sentence that introduces it. */
interface Topic {
  readonly name: string;
  readonly text: string;
  /** The sources whose exports are on the page: files, or folders that end with a slash. The longest one that fits counts. */
  readonly sources: readonly string[];
}

/** The pages of the main entry point. */
export const topics: readonly Topic[] = [
  {
    name: 'kernel',
    text: 'Opens a kernel: `createKernel`, its options, and the parts that a kernel has. Moves a store: `migrateStore`.',
    sources: ['create-kernel.ts', 'load-kernel.ts', 'kernel-options.ts', 'container.ts', 'migrate-store.ts'],
  },
  {
    name: 'processes',
    text: 'Creates, watches, signals and ends processes: `kernel.processes` for the host, and the face of one process.',
    sources: ['kernel/'],
  },
  {
    name: 'bodies',
    text: 'Images, and the `ctx` that their bodies get: steps, timers, messages, children and supervision.',
    sources: ['runtime/'],
  },
  {
    name: 'budgets',
    text: 'Limits on what a process and everything under it may use.',
    sources: ['kernel/budget/'],
  },
  {
    name: 'capabilities',
    text: 'Authority: capabilities, constraints, rules, approvals and decisions; questions to people.',
    sources: ['capability/', 'kernel/question/'],
  },
  { name: 'memory', text: 'Objects, views, merges, and contexts for models.', sources: ['memory/'] },
  {
    name: 'tools',
    text: 'Tools: defining, registering and calling them, and tools of MCP servers.',
    sources: ['tools/', 'kernel/face/process-tools.ts'],
  },
  {
    name: 'commands',
    text: 'Commands of the operating system, and programs that somebody else started.',
    sources: ['kernel/command/', 'runtime/image/command-program.ts'],
  },
  { name: 'events', text: 'The feed of events.', sources: ['events/'] },
  {
    name: 'audit',
    text: 'The audit log: records, proofs, checkpoints and questions about the past.',
    sources: ['audit/'],
  },
  {
    name: 'errors',
    text: 'Every error is a `KernelError` with a code. The codes are explained in [errors](../errors.md).',
    sources: ['base/errors.ts', 'base/error/', 'kernel-errors.ts', 'runtime/run/run-errors.ts'],
  },
  {
    name: 'values',
    text: 'Ids, JSON values and pages of results.',
    sources: ['base/'],
  },
  {
    name: 'ports',
    text: 'Parts of the kernel that an application can replace with `modules`, such as the clock in tests.',
    sources: [
      'base/clock.ts',
      'base/entropy.ts',
      'base/logger.ts',
      'base/store.ts',
      'base/token.ts',
      'capability/resource/workspace-files.ts',
      'memory/tokenizer.ts',
      'runtime/os/',
    ],
  },
];

/** The pages of the other entry points, by the names that TypeDoc gives to them. */
export const modulePages: Readonly<Record<string, { readonly name: string; readonly text: string }>> = {
  'integrations/ai-sdk': {
    name: 'ai-sdk',
    text: '`procura/ai-sdk`: agents whose model is called through the AI SDK, and tools for code that calls a model itself.',
  },
  'integrations/langchain': {
    name: 'langchain',
    text: '`procura/langchain`: agents and graphs of LangChain as bodies of processes; see [adapters](../adapters.md#langchain).',
  },
  'integrations/claude-agent': {
    name: 'claude-agent',
    text: '`procura/claude-agent`: agents of the Claude Agent SDK whose tools and subagents go through the kernel.',
  },
  'integrations/mastra': {
    name: 'mastra',
    text: '`procura/mastra`: tools of Mastra that go through the kernel.',
  },
  'integrations/openai-agents': {
    name: 'openai-agents',
    text: '`procura/openai-agents`: agents, models and tools of the OpenAI Agents SDK under the kernel.',
  },
  'integrations/mcp-server': {
    name: 'mcp-server',
    text: '`procura/mcp-server`: serves one process to an MCP client.',
  },
  'integrations/tools': {
    name: 'plain-sdks',
    text: '`procura/tools`: the tools of a process for any loop, and durable turns of a model; see [adapters](../adapters.md#plain-sdks).',
  },
  testing: { name: 'testing', text: '`procura/testing`: kernels, models and clocks for the tests of an application.' },
};

/** Types without an export of their own that are spelled out where they are used. */
export const inlinedTypes: readonly string[] = [
  'ApprovalFacts',
  'AtomOptions',
  'AtomTest',
  'AuditOutcome',
  'BodyReturn',
  'CallingFace',
  'ChargedDimension',
  'ControlSignal',
  'DenialFacts',
  'Dimension',
  'EntryStatus',
  'ErrorDetails',
  'ExportOptions',
  'Fault',
  'FaultKind',
  'ImageBody',
  'InputFacts',
  'JsonPrimitive',
  'KernelClock',
  'LineageLink',
  'LiveStatus',
  'ModelSource',
  'RecoveryDisposition',
  'RuleEffect',
  'UserSignal',
  'ValidationResult',
  'VerifyOptions',
  'ViewMode',
];

/** Names of properties that need no comment. */
export const plainNames: readonly string[] = [
  'args',
  'at',
  'capability',
  'createdAt',
  'exitCode',
  'exitedAt',
  'goal',
  'hash',
  'holder',
  'id',
  'image',
  'input',
  'kind',
  'labels',
  'message',
  'name',
  'object',
  'payload',
  'pid',
  'queue',
  'relation',
  'resource',
  'right',
  'rights',
  'startedAt',
  'status',
  'tags',
  'text',
  'title',
  'tokens',
  'type',
  'updatedAt',
  'version',
];

/** The name of the topic to which a source file belongs. */
export function topicOf(file: string): string {
  const fits = topics.flatMap(({ name, sources }) =>
    sources
      .filter((source) => (source.endsWith('/') ? file.startsWith(source) : file === source))
      .map((source) => ({ name, source })),
  );
  return fits.sort((a, b) => b.source.length - a.source.length)[0]?.name ?? '';
}
