import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { packageVersion } from '../base/package/package-version.js';
import { CliError } from './cli-error.js';
import { reportError } from './report-error.js';
import { parseDuration } from './times.js';

const exitFailed = 1;
const exitUsage = 2;

const ruleCommands = [
  ['deny', 'forbid something, whatever capability there is'],
  ['ask', 'want a person to approve something, whatever capability there is'],
] as const;

/** Runs one command line. Returns the exit code: 0, 1 when the command failed, 2 for a wrong command line. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    await buildProgram(args).parseAsync([...args], { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      reportError(error);
      return exitFailed;
    }
    if (error.exitCode === 0) return 0;
    reportError(usageError(error));
    return exitUsage;
  }
}

/** All commands with their arguments and options. A command's module, and the kernel, are loaded when it is run. */
function buildProgram(args: readonly string[]): Command {
  const program = new Command('procura')
    .description('Look at and steer the processes of a Procura database, also beside a running kernel.')
    .option('--store <store>', 'a path or an address such as postgres://… (default: $PROCURA_STORE or ./procura.db)')
    .option('--workspace <path>', 'the folder of its files (default: $PROCURA_WORKSPACE or this one)')
    .option('--state <path>', 'the folder of its key and output (default: $PROCURA_STATE or the one beside it)')
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  // The program's own --version would be taken for the option of the command that has one.
  if (!args.includes('retry')) program.version(packageVersion);

  command(program, 'ps', 'list processes')
    .option('--full', 'whole pids')
    .option('--live', 'only processes that have not ended')
    .option('--status <status>', 'only this status')
    .option('--label <key=value>', 'only with this label; may be repeated', collectLabel, {})
    .option('--limit <n>', 'how many at most', wholeNumber, 1_000)
    .action(async (_, self) => (await import('./commands/process/ps.js')).ps(self.optsWithGlobals()));

  command(program, 'tree', 'draw a process and everything under it')
    .argument('[pid]', 'without it: every root')
    .option('--full', 'whole pids')
    .action(async (pid, _, self) => (await import('./commands/process/tree.js')).tree(pid, self.optsWithGlobals()));

  command(program, 'show', 'show one process: its record, goal, arguments, result, budget and capabilities')
    .argument('<pid>')
    .action(async (pid, _, self) => (await import('./commands/process/show.js')).show(pid, self.optsWithGlobals()));

  command(program, 'transcript', 'print what a process was told and said')
    .argument('<pid>')
    .action(async (pid, _, self) =>
      (await import('./commands/process/transcript.js')).transcript(pid, self.optsWithGlobals()),
    );

  command(program, 'journal', 'list the calls that the body of a process has made')
    .argument('<pid>')
    .option('--values', 'with their answers')
    .action(async (pid, _, self) =>
      (await import('./commands/process/journal.js')).journal(pid, self.optsWithGlobals()),
    );

  command(program, 'logs', 'print what the body of a process has logged, or the output of a command')
    .argument('<pid>')
    .option('--follow', 'go on with what is added until the process has ended')
    .addOption(new Option('--stream <name>', 'of a command').choices(['stdout', 'stderr']).default('stdout'))
    .action(async (pid, _, self) => (await import('./commands/process/logs.js')).logs(pid, self.optsWithGlobals()));

  command(program, 'signal', 'send a signal: pause, resume, cancel, kill or user.NAME')
    .argument('<pid>')
    .argument('<signal>')
    .option('--reason <text>', 'goes on record')
    .action(async (pid, signal, _, self) =>
      (await import('./commands/process/signal.js')).signal(pid, signal, self.optsWithGlobals()),
    );
  command(program, 'send', 'put a message into the mailbox of a process')
    .argument('<pid>')
    .argument('<value>', 'JSON if it parses, else text')
    .option('--text', 'take the value as text, although it parses')
    .action(async (pid, value, _, self) =>
      (await import('./commands/process/send.js')).send(pid, value, self.optsWithGlobals()),
    );
  for (const signal of ['cancel', 'kill', 'pause', 'resume']) {
    command(program, signal, `${signal} a process and everything under it`)
      .argument('<pid>')
      .option('--reason <text>', 'goes on record')
      .action(async (pid, _, self) =>
        (await import('./commands/process/signal.js')).signal(pid, signal, self.optsWithGlobals()),
      );
  }

  command(program, 'retry', 'have a process run again that waits for code')
    .argument('<pid>')
    .option('--version <version>', 'another version of its image')
    .action(async (pid, _, self) => (await import('./commands/process/retry.js')).retry(pid, self.optsWithGlobals()));

  command(program, 'prune', 'remove ended processes with everything that hangs on them, and give the room back')
    .option('--ended-before <time>', 'those that ended so long ago (30s, 10m, 2h, 7d), or before a date', pastTime)
    .option('--compact', 'rewrite the file, which wants no live node; alone: only that')
    .action(async (_, self) => {
      const options = self.optsWithGlobals();
      if (options.endedBefore === undefined && options.compact !== true)
        self.error('--ended-before or --compact is missing.');
      await (await import('./commands/process/prune.js')).prune(options);
    });

  command(program, 'migrate', 'move a store to a file or to a database on a server, and check that it is the same')
    .option('--from <store>', 'the store that is moved (default: that of --store)')
    .option('--to <store>', 'the store that is made: a file, or a schema without tables (default: $PROCURA_TO)')
    .option('--from-state <path>', 'the state folder of the store that is moved (default: that of --state)')
    .option('--to-state <path>', 'the state folder of the store that is made (default: the one beside it)')
    .option('--with-key', 'copy the signing key, too; without it a new one is made')
    .action(async (_, self) => (await import('./commands/store/migrate.js')).migrate(self.optsWithGlobals()));

  command(program, 'approvals', 'list what waits for the answer of a person')
    .option('--full', 'whole ids')
    .option('--status <status>', 'pending, answered, void or any', 'pending')
    .option('--pid <pid>', 'only what this process asks')
    .action(async (_, self) => (await import('./commands/authority/approvals.js')).approvals(self.optsWithGlobals()));

  command(program, 'approval', 'show one whole: who asks, the arguments, the chain of the capability')
    .argument('<approval>')
    .action(async (id, _, self) =>
      (await import('./commands/authority/approval.js')).approval(id, self.optsWithGlobals()),
    );

  command(program, 'questions', 'list the questions of processes to people')
    .option('--full', 'whole ids')
    .option('--status <status>', 'pending, answered, closed or any', 'pending')
    .option('--pid <pid>', 'only what this process asks')
    .action(async (_, self) => (await import('./commands/authority/questions.js')).questions(self.optsWithGlobals()));

  command(program, 'answer', 'answer an approval (once, always, deny or deny-always) or a question (JSON or text)')
    .argument('<id>', 'of an approval or of a question')
    .argument('<value>', 'once, always, deny or deny-always; of a question JSON if it parses, otherwise text')
    .option('--by <name>', 'who answers (default: the user who runs this)')
    .option('--scope <scope>', 'of always and deny-always: args (default), resource or tree')
    .option('--args <json>', 'with once: make the call of a tool or a command with these arguments')
    .action(async (id, decision, _, self) =>
      (await import('./commands/authority/answer.js')).answer(id, decision, self.optsWithGlobals()),
    );

  command(program, 'rules', 'list the rules of the host')
    .argument('[pid]', 'only those that bind this process')
    .option('--all', 'also those that bind nobody any more')
    .option('--full', 'whole ids')
    .action(async (pid, _, self) => (await import('./commands/authority/rules.js')).rules(pid, self.optsWithGlobals()));

  for (const [effect, description] of ruleCommands) {
    const rule = command(program, effect, description)
      .argument('<pid>', "with everything spawned under it; '*', quoted, for every process")
      .argument('<resource>', 'a pattern, such as tool:**')
      .argument('<rights...>', 'such as call')
      .option('--id <id>', 'the same rule under the same id again is that rule')
      .option('--reason <text>', 'goes on record')
      .option('--expires-in <time>', 'ends by itself after this time: 30s, 10m, 2h, 7d', duration)
      .action(async (pid, resource, rights, _, self) =>
        (await import('./commands/authority/rule.js')).setRule(effect, pid, resource, rights, self.optsWithGlobals()),
      );
    if (effect === 'ask')
      rule.option('--answer-within <time>', 'a call that nobody answers in time is denied', duration);
  }

  command(program, 'lift', 'end a rule')
    .argument('<rule>')
    .option('--reason <text>', 'goes on record')
    .action(async (rule, _, self) => (await import('./commands/authority/lift.js')).lift(rule, self.optsWithGlobals()));

  command(program, 'grant', 'give a process a capability')
    .argument('<pid>')
    .argument('<resource>', 'a pattern, such as tool:search')
    .argument('<rights...>', 'such as call')
    .option('--delegable', 'it may be handed on')
    .option('--uses <n>', 'how often it can be used', wholeNumber)
    .option('--expires-in <time>', 'ends by itself after this time: 30s, 10m, 2h, 7d', duration)
    .action(async (pid, resource, rights, _, self) =>
      (await import('./commands/authority/grant.js')).grant(pid, resource, rights, self.optsWithGlobals()),
    );

  command(program, 'revoke', 'end a capability and everything derived from it')
    .argument('<capability>', 'its whole id')
    .option('--reason <text>', 'goes on record')
    .action(async (id, _, self) => (await import('./commands/authority/revoke.js')).revoke(id, self.optsWithGlobals()));

  command(program, 'events', 'print the event log')
    .option('--follow', 'go on with what is committed from now on')
    .option('--pid <pid>', 'only of this process')
    .option('--tree <pid>', 'only of this process and everything spawned under it')
    .option('--after <seq>', 'only after this event', wholeNumber, 0)
    .action(async (_, self) => (await import('./commands/record/events.js')).events(self.optsWithGlobals()));

  command(program, 'audit', 'print the audit log')
    .option('--actor <pid>', 'on whose authority: a pid, or host')
    .option('--action <name>', 'such as process.spawn')
    .option('--target <pid>', 'done to this process')
    .option('--resource <text>', 'such as tool:search')
    .option('--capability <id>', 'done under this capability')
    .option('--decision <text>', 'allow or deny')
    .option('--outcome <text>', 'intent, ok, failed, refused or unknown')
    .option('--after <seq>', 'only after this record', wholeNumber, 0)
    .option('--limit <n>', 'how many at most', wholeNumber)
    .action(async (_, self) => (await import('./commands/record/audit.js')).audit(self.optsWithGlobals()));

  command(program, 'lineage', 'tell where a process came from and by whose authority it acted')
    .argument('<pid>')
    .action(async (pid, _, self) =>
      (await import('./commands/record/lineage.js')).lineage(pid, self.optsWithGlobals()),
    );

  command(program, 'explain', 'explain what a process may do, and why')
    .argument('<pid>')
    .argument('<right>', 'such as call')
    .argument('<resource>', 'such as tool:search')
    .option('--args <json>', 'the arguments of the call', jsonArgument)
    .action(async (pid, right, resource, _, self) =>
      (await import('./commands/authority/explain.js')).explain(pid, right, resource, self.optsWithGlobals()),
    );

  command(program, 'verify', 'check the audit log of the database, or an export of it')
    .argument('[file]', 'an export; without it: the database')
    .option('--key <public-key>', 'every checkpoint must be signed with this key: PEM, base64 SPKI, or a file')
    .option('--allow-unsigned', 'with --key: accept records after the last checkpoint')
    .action(async (file, _, self) =>
      (await import('./commands/record/verify.js')).verify(file, self.optsWithGlobals()),
    );

  command(program, 'export', 'write the audit log as JSON Lines')
    .option('--out <file>', 'write to this file instead of standard output')
    .option('--payloads', 'with resources and payloads, so that the reader can check them too')
    .action(async (_, self) => (await import('./commands/record/export.js')).exportLog(self.optsWithGlobals()));

  command(program, 'checkpoint', 'sign the head of the audit log').action(async (_, self) =>
    (await import('./commands/record/checkpoint.js')).checkpoint(self.optsWithGlobals()),
  );

  command(program, 'mcp', 'be one process for an MCP client: a server on standard input and output')
    .option('--pid <pid>', 'the process, which must not have ended')
    .addOption(
      new Option('--spawn <json>', 'spawn it first: a spec, such as {"goal": …}')
        .argParser(jsonArgument)
        .conflicts('pid'),
    )
    .option('--images <module>', 'a module that exports images, tools and mcp servers')
    .option('--run', 'run the bodies of processes here, as long as the client is there')
    .action(async (_, self) => {
      const options = self.optsWithGlobals();
      if (options.pid === undefined && options.spawn === undefined) self.error('--pid or --spawn is missing.');
      await (await import('./commands/process/mcp.js')).mcp(options);
    });

  return program;
}

/** Commands without --json, because their output has a format of its own. */
const withoutJson: ReadonlySet<string> = new Set(['export', 'mcp']);

function command(program: Command, name: string, description: string): Command {
  const subcommand = program
    .command(name)
    .description(description)
    .option('--store <store>', 'a path or an address such as postgres://… (default: $PROCURA_STORE or ./procura.db)');
  return withoutJson.has(name) ? subcommand : subcommand.option('--json', 'print JSON');
}

function usageError(error: CommanderError): CliError {
  const message =
    error.code === 'commander.help'
      ? 'A command is missing.'
      : error.message.replace(/^error: /, '').replace(/\s+/g, ' ');
  return new CliError('USAGE', message, 'See procura --help, or procura help COMMAND.');
}

function collectLabel(text: string, labels: Record<string, string>): Record<string, string> {
  const equals = text.indexOf('=');
  if (equals < 1) throw new InvalidArgumentError('A label is given as key=value.');
  return { ...labels, [text.slice(0, equals)]: text.slice(equals + 1) };
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It is not a whole number.');
  return Number(text);
}

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('A time is given as 30s, 10m, 2h or 7d.');
  return ms;
}

/** A time ago, or a date, in epoch milliseconds. */
function pastTime(text: string): number {
  const agoMs = parseDuration(text);
  const at = agoMs === undefined ? Date.parse(text) : Date.now() - agoMs;
  if (Number.isNaN(at) || at < 0) throw new InvalidArgumentError('A time is given as 30s, 10m, 2h, 7d, or as a date.');
  return at;
}

function jsonArgument(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError('It is not JSON.');
  }
}
