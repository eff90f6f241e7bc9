/** The parts of docs/errors.md. */
export type ErrorGroup = 'processes' | 'bodies' | 'tools' | 'authority' | 'input' | 'store' | 'audit' | 'packages';

interface ErrorDescription {
  readonly group: ErrorGroup;
  /** When the error is thrown. Markdown; links are relative to docs/. */
  readonly meaning: string;
  /** Advice for the caller. */
  readonly remedy: string;
}

/** Every code of a KernelError: the one list, from which the type is taken and the tables of docs/errors.md are generated. */
export const errorCodes = {
  NO_SUCH_PROCESS: {
    group: 'processes',
    meaning: 'No process has this pid.',
    remedy: 'Look at `processes.list()`; pruned ones are only in the audit log.',
  },
  PROCESS_TERMINATED: {
    group: 'processes',
    meaning: 'The process has ended, and an ended process never changes.',
    remedy: 'Spawn a new one.',
  },
  INVALID_TRANSITION: {
    group: 'processes',
    meaning:
      'The process is in a state, or of a kind, that does not take this, such as reading the output of what is no command.',
    remedy: 'See the [table of states](architecture.md#states).',
  },
  TREE_STOPPING: {
    group: 'processes',
    meaning: 'The process is being stopped: it can have no more children, and neither gives nor gets a capability.',
    remedy: 'Use a process that goes on.',
  },
  NOT_A_CHILD: {
    group: 'processes',
    meaning:
      'A process waits for one that is not its child, or signals one that is not and that it holds no capability on, or reads its output.',
    remedy: "On the host's face use `processes.result()`.",
  },
  NO_CHILDREN: {
    group: 'processes',
    meaning: 'Every child has been waited for already.',
    remedy: 'Name a child to get its result again.',
  },
  WAIT_TIMEOUT: {
    group: 'processes',
    meaning:
      'Nothing ended, or no message or signal came, within `timeoutMs`; or the process was paused for that long (`facts.paused`). Retryable; changes nothing.',
    remedy: 'Wait again, or cancel what takes too long.',
  },
  WAIT_CYCLE: {
    group: 'processes',
    meaning:
      'A process waits for itself or for one above it, or processes would wait for each other without end; or a tool calls itself and all places of its `concurrency` wait for that call. `facts.cycle` names them.',
    remedy: 'Wait for a child; give a `receive` a `timeoutMs`, or have one of them send first.',
  },
  CANCELLED: {
    group: 'processes',
    meaning:
      "The wait was given up: by its caller's AbortSignal, or because the waiter is being stopped. Also a wait for a message, a signal, the answer of a person, or the end of a pause; a step that would begin while the process is being stopped; and the call that finds the deadline of its process passed, which stops it. Or a store was not moved, because its caller gave that up.",
    remedy: "Wait again, or read the result from the host's face.",
  },
  PROCESS_FAILED: {
    group: 'processes',
    meaning:
      'The value of a process was asked for, and the process has not exited: it failed, was killed, or was stopped. `facts` have its `pid`, its `status` and the `outcome`.',
    remedy: 'See `facts.outcome`. Use `result` or `wait` where such an end is expected: they answer with the outcome.',
  },
  MAILBOX_FULL: {
    group: 'processes',
    meaning:
      'As many messages as a mailbox holds wait for the receiver, or as many of this one sender (`facts.bound`: `mailbox` or `sender`). `facts.limit` is how many. Retryable.',
    remedy: 'Send it again when the receiver has taken some.',
  },
  CONFLICT: {
    group: 'processes',
    meaning:
      'Somebody else was first; or an id was used before for something else; or an image version is registered already; or an approval was answered or is void; or a file that was to be written has come or gone meanwhile; or the name of a tool or of an MCP server is taken.',
    remedy: 'If `retryable`, look again and repeat. Otherwise use a new id.',
  },
  LEASE_LOST: {
    group: 'processes',
    meaning:
      'The node was given up, because its lease had lapsed or its program seemed to be gone: others run what it ran. In a body: this run does not hold its process any more.',
    remedy: 'Nothing; the node registers again by itself, and another run goes on.',
  },
  SPAWN_REFUSED: {
    group: 'processes',
    meaning: '`beforeSpawn` of the program that would create the process has refused it; `facts.reason` says why.',
    remedy: 'Ask whoever runs the kernel, or spawn something else.',
  },
  NO_SUCH_IMAGE: {
    group: 'processes',
    meaning: 'No image of this name and version is registered.',
    remedy: 'Register it with `kernel.images.register` or in the options.',
  },
  BUDGET_EXCEEDED: {
    group: 'processes',
    meaning:
      'A limit of the process, or of one it was spawned under, leaves less than was asked. `facts` name the dimension and the process that binds.',
    remedy: 'Ask for less, or raise that limit with `setBudget`.',
  },
  NO_SUCH_RESERVATION: {
    group: 'processes',
    meaning: 'It was settled already, or released when its process ended.',
    remedy: 'Nothing; settle each reservation once.',
  },
  STEP_TIMEOUT: {
    group: 'bodies',
    meaning: 'The step took longer than its `timeoutMs`. What it has begun may still go on. Retryable.',
    remedy: 'Give it more time, or a retry policy.',
  },
  STEP_OVER: {
    group: 'bodies',
    meaning: 'A call was made by a step that has ended, or by an attempt that took too long.',
    remedy: 'Await every call that a step makes; heed its time limit.',
  },
  OUTCOME_UNKNOWN: {
    group: 'bodies',
    meaning:
      'The program ended while a step or a call of a tool of effect `once` was under way: it may have happened or not, and is not repeated. Also of a command whose kernel was gone when it ended.',
    remedy: 'Find out what happened, then decide in the body.',
  },
  INVALID_OUTPUT: {
    group: 'bodies',
    meaning:
      'A body gave back a result that does not fit the `output` schema of its image. The process has failed. `facts` have the `image`, and `path` and `problem` of the first difference.',
    remedy: 'Return what the schema describes, or change the schema in a new version of the image.',
  },
  NON_DETERMINISTIC: {
    group: 'bodies',
    meaning:
      'A body that was run again asked for something else than it did before. Its process waits for [other code](guide.md#changing-the-code-of-an-image). `facts` have what is recorded and what was asked.',
    remedy:
      'Put time, chance and input into steps; roll back, deploy a build that makes the recorded calls, or tell the ways apart with `ctx.patched`.',
  },
  MODEL_FAILED: {
    group: 'bodies',
    meaning:
      'The model of an agent could not be asked, or answered with an error, also when it was asked again. `facts` have the model and the status; no headers and nothing of what was asked.',
    remedy: 'See what the provider says: the key, the name of the model, its limits.',
  },
  SUPERVISOR_INTENSITY: {
    group: 'bodies',
    meaning:
      'Children of a supervisor ended more often than it allows within its period. It has stopped the others. `facts` name the child and its last process.',
    remedy: 'Find out why it fails, or allow more.',
  },
  RUN_ENDED: {
    group: 'bodies',
    meaning:
      'What `exit` and `exec` of a body reject with after their commit, and what is asked of a run that is over.',
    remedy: 'Let it pass.',
  },
  SHUTDOWN: {
    group: 'bodies',
    meaning: 'The kernel that runs the body shuts down. What the body throws then is not its outcome. Retryable.',
    remedy: 'Let it pass: the body is run again when a kernel that has its image is open.',
  },
  PARKED: {
    group: 'bodies',
    meaning:
      'The process is paused, and the call goes on when it is resumed, or is refused when its time is over or the process is stopped. Kept inside the kernel: no caller is told.',
    remedy: 'Nothing.',
  },
  NO_SUCH_TOOL: {
    group: 'tools',
    meaning:
      'There is no tool of that name, or the image of the process does not show it. `facts.known` are those that it sees.',
    remedy: 'Use one of them, or register it.',
  },
  TOOL_FAILED: {
    group: 'tools',
    meaning:
      'The tool threw, or gave back what is no result of it; or a file or a request could not be finished; or a command could not be started; or an MCP server could not be connected, or did not answer. `facts` have what it said: `error`, `problem`, or the `reason` or `errno` of the system. The call is on record and counts: as `failed`, or as `ok` where the tool has run and only its result is no JSON.',
    remedy: 'See what it says.',
  },
  TOOL_TIMEOUT: {
    group: 'tools',
    meaning:
      'The tool took longer than it may, with the wait for its place. What it has begun may still happen: on record its outcome is unknown. Retryable.',
    remedy: 'Give it more time.',
  },
  UNSUPPORTED: {
    group: 'tools',
    meaning: 'Commands cannot be run on this system: Windows. Programs of others can be adopted on Linux only.',
    remedy: 'Run the kernel on Linux or macOS.',
  },
  AMPLIFICATION: {
    group: 'authority',
    meaning:
      'What was to be given, or the view of a fork, is wider than what the giver has or may give, or would go back up its own chain. `facts.field` names where.',
    remedy: 'Ask for less, or grant the giver a delegable capability.',
  },
  CAPABILITY_DENIED: {
    group: 'authority',
    meaning:
      'The process holds nothing that allows it, or a rule forbids it, or the process that it would resume was paused by the host (`facts.pausedBy`). `facts.code` is the [decision](errors.md#codes-of-decisions), `facts.nearest` what came near.',
    remedy: 'Do what the hint says: grant, delegate, or lift the rule.',
  },
  CAPABILITY_REVOKED: {
    group: 'authority',
    meaning: 'It would be allowed if the capability, or one it was derived from, had not been revoked or ended.',
    remedy: 'Grant it anew.',
  },
  CAPABILITY_EXPIRED: {
    group: 'authority',
    meaning: 'It would be allowed if the capability had not expired.',
    remedy: 'Grant it anew.',
  },
  NO_SUCH_CAPABILITY: {
    group: 'authority',
    meaning: "No capability has this id, or it is not the caller's to use: the answer is the same.",
    remedy: 'Look at `capabilities.list(pid)`.',
  },
  NO_SUCH_RULE: {
    group: 'authority',
    meaning: 'No rule has this id; it may have been lifted.',
    remedy: 'Look at `capabilities.rules(undefined, { all: true })`.',
  },
  APPROVAL_PENDING: {
    group: 'authority',
    meaning:
      "A rule wants a person to approve it. `facts.approval` is the question. Only on the host's face; the call of a process waits. Retryable.",
    remedy: 'Answer it with `approvals.answer`, then repeat the call.',
  },
  APPROVAL_DENIED: {
    group: 'authority',
    meaning: 'A person has refused this call. Told once: the same call later asks again.',
    remedy: 'Do something else, or ask again.',
  },
  TOO_MANY_APPROVALS: {
    group: 'authority',
    meaning: 'The process waits for 16 answers already. Retryable.',
    remedy: 'Answer some of them.',
  },
  NO_SUCH_APPROVAL: {
    group: 'authority',
    meaning: 'No approval has this id.',
    remedy: "Look at `approvals.list({ status: 'any' })`.",
  },
  NO_SUCH_QUESTION: {
    group: 'authority',
    meaning: 'No question has this id.',
    remedy: "Look at `questions.list({ status: 'any' })`.",
  },
  TOO_MANY_QUESTIONS: {
    group: 'authority',
    meaning: 'Sixteen questions of the process wait for an answer already. Retryable.',
    remedy: 'Answer some of them.',
  },
  NO_SUCH_OBJECT: {
    group: 'authority',
    meaning:
      "There is no such object or version, or the process may not do this with it: the answer is the same. Also a root of a fork's view that is not in the view of the parent, or that the parent may not hand on.",
    remedy: 'Use a handle that the process itself got, for what its rights allow; `memory.addToView` before `fork`.',
  },
  IMMUTABLE: {
    group: 'authority',
    meaning: 'The object was made to stay as it is, which is the default.',
    remedy: 'Create another one with it among the `sources`, or create it with `immutable: false`.',
  },
  VERSION_CONFLICT: {
    group: 'authority',
    meaning:
      'The object is not at the version that `ifVersion` names: somebody else has written it. `facts` have both.',
    remedy: 'Read it again, and repeat the update on what is there now.',
  },
  MERGE_CONFLICT: {
    group: 'authority',
    meaning:
      'Parent and child have both changed an object since the fork. `facts` have what each of them has made of it. Nothing was merged.',
    remedy: 'Merge again with `ours`, `theirs`, or a function that decides.',
  },
  MERGE_FAILED: {
    group: 'authority',
    meaning: 'The function that was to decide a conflict threw. Nothing was merged.',
    remedy: 'Mend the function, and merge again.',
  },
  NOT_FORKED: {
    group: 'authority',
    meaning:
      'The view of the child was not forked from the one that this process has now, so nothing of it can be merged.',
    remedy: 'Make the child with `fork`, or read its result.',
  },
  INVALID_INPUT: {
    group: 'input',
    meaning: 'A value does not have the form the call takes. `facts.path` says where.',
    remedy: 'See the type of the parameter.',
  },
  INVALID_PATH: {
    group: 'input',
    meaning:
      'A path leaves the workspace, is absolute and not in its canonical spelling, or is not what is asked for: a folder, a regular file, something that is there; or a link has been put in its way since it was decided on. `facts.problem` says which.',
    remedy: 'Give a path inside the workspace, relative to the working directory.',
  },
  STORE_BUSY: {
    group: 'store',
    meaning: 'Another program held the write lock for 5 seconds. Retryable.',
    remedy: 'Try again.',
  },
  STORE_UNAVAILABLE: {
    group: 'store',
    meaning:
      'The database server cannot be reached, or ended the connection again and again for 5 seconds. Nothing of the call was kept. Retryable.',
    remedy: 'Look at the server and the network; try again.',
  },
  STORE_OUTCOME_UNKNOWN: {
    group: 'store',
    meaning:
      'The connection was lost after COMMIT was sent, and the server did not say within 5 seconds whether it was carried out. The kernel goes on asking.',
    remedy: 'Read the state before you repeat the call, or give it an `id` that makes it idempotent.',
  },
  STORE_FULL: {
    group: 'store',
    meaning: "The disk, or the database's limit, is full. Nothing of the call was kept. Retryable.",
    remedy: 'Free space.',
  },
  STORE_IO: {
    group: 'store',
    meaning:
      'The file cannot be opened, read or written; or it was removed or replaced under a running kernel, which is noticed with the next poll and holds for every call that follows.',
    remedy: 'Check the path, the rights and the disk; open a new kernel.',
  },
  STORE_READONLY: {
    group: 'store',
    meaning: 'The kernel was opened with `readOnly`, or the file may not be written.',
    remedy: 'Open it without `readOnly`; make file and folder writable.',
  },
  STORE_CORRUPT: {
    group: 'store',
    meaning: 'The engine finds the database damaged.',
    remedy: 'Restore it from a backup.',
  },
  STORE_FOREIGN: {
    group: 'store',
    meaning: 'The file, or the schema of a PostgreSQL database, is not one of Procura. It was left alone.',
    remedy: 'Name another file or schema.',
  },
  STORE_NOT_VACANT: {
    group: 'store',
    meaning:
      'A store is to be moved to a place that is in use: there is a store already, or its state folder has the key, checkpoints or output of another one. It was left alone.',
    remedy: 'Name another place.',
  },
  STORE_UNSUPPORTED: {
    group: 'store',
    meaning:
      'What was asked cannot be done with this kind of store. Or the package better-sqlite3 is not installed, or has no native part that this Node can load, or its SQLite is too old. `facts` have the `package`, the `problem` and the `command` that installs it, or the versions `found` and `least`.',
    remedy: 'Run the command that the hint names.',
  },
  STORE_FAILED: {
    group: 'store',
    meaning:
      'SQLite or PostgreSQL answered with something else; `facts.sqlite` or `facts.sqlstate` has its code. Nothing of the call was kept.',
    remedy: 'Look up the code in the documentation of the engine.',
  },
  SCHEMA_NEWER: { group: 'store', meaning: 'A newer release has written this store.', remedy: 'Use that release.' },
  KERNEL_CLOSED: { group: 'store', meaning: 'The kernel has been shut down.', remedy: 'Open a new one.' },
  INTERNAL: {
    group: 'store',
    meaning: 'A defect of the kernel. Nothing of the call was kept.',
    remedy: 'Report it, with the message and `cause`.',
  },
  MISSING_PACKAGE: {
    group: 'packages',
    meaning:
      'The call needs an optional package that is not installed: `ai` for `procura/ai-sdk`, `@modelcontextprotocol/server` for `procura/mcp-server` and `procura mcp`, `@modelcontextprotocol/client` for MCP servers, `@langchain/core` for `procura/langchain`. `facts` have the `package` and the `command` that installs it.',
    remedy: 'Run the command that the hint names: it is that of the package manager in use.',
  },
  AUDIT_BROKEN: {
    group: 'audit',
    meaning: 'The log is not as it was written; `facts` have the record and the [kind](audit.md#faults).',
    remedy: 'Open it with `readOnly`, verify and export it, restore a copy that verifies.',
  },
  NO_SUCH_RECORD: { group: 'audit', meaning: 'The log has no record of this number.', remedy: 'List the log.' },
  NO_PAYLOAD: {
    group: 'audit',
    meaning: 'The record has nothing that could be erased.',
    remedy: 'Nothing; ids and codes stay.',
  },
  ALREADY_ERASED: { group: 'audit', meaning: 'The payload was erased before.', remedy: 'Nothing.' },
  KEY_UNREADABLE: {
    group: 'audit',
    meaning: 'The file with the signing key cannot be read, or holds another kind of key.',
    remedy: 'Restore it, or move it away: a new key is made and flagged.',
  },
  SIGNER_FAILED: {
    group: 'audit',
    meaning: 'A `Signer` made a signature that does not fit its public key.',
    remedy: 'Mend the signer.',
  },
} satisfies Record<string, ErrorDescription>;

/** The code of a KernelError. */
export type KernelErrorCode = keyof typeof errorCodes;
