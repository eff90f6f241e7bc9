import { type ChildProcess, spawn } from 'node:child_process';
import { inject, injectable } from 'inversify';
import { Logger } from '../../base/logger.js';
import type { StartedProcess } from '../../runtime/os/os-groups.js';
import { OutputFiles } from '../output/output-files.js';

/** The number of starts of the guard process, including restarts after somebody has ended it. */
const startsMax = 10;

/** A command that the guard process watches. */
interface WatchedCommand {
  readonly rowNumber: number;
  /** The leader of its process group, when it is known. */
  leader?: StartedProcess;
  /** Processes that have left the group. */
  readonly members: StartedProcess[];
}

/** The number of processes of one command that the guard process is told by their pids. */
const membersMax = 1_000;

/**
 * Keeps commands from outliving a kernel that crashes: a separate process that receives their tokens, groups and members over
 * a pipe, and stops those that are left when the pipe closes. It never keeps the host program from ending.
 */
@injectable()
export class CommandGuard {
  private shell: ChildProcess | undefined;
  private starts = 0;
  private isClosed = false;
  private readonly watched = new Map<string, WatchedCommand>();

  constructor(
    @inject(Logger) private readonly logger: Logger,
    @inject(OutputFiles) private readonly files: OutputFiles,
  ) {}

  /** To be called before the command is started; `rowNumber` is the one of its output files. */
  addToken(token: string, rowNumber: number): void {
    this.watched.set(token, { rowNumber, members: [] });
    this.send(`token ${token} ${rowNumber}`);
  }

  /** To be called as soon as the leader of its process group is known. */
  addGroup(token: string, leader: StartedProcess): void {
    const command = this.watched.get(token);
    if (command === undefined) return;
    command.leader = leader;
    this.send(processLine('group', token, leader));
  }

  /** A process that has left the group. Nothing happens for a command that is not watched. */
  addMember(token: string, member: StartedProcess): void {
    const command = this.watched.get(token);
    if (command === undefined || command.members.length === membersMax) return;
    command.members.push(member);
    this.send(processLine('member', token, member));
  }

  /** To be called when nothing is left of the command, or another node holds it. */
  remove(token: string): void {
    if (this.watched.delete(token)) this.shell?.stdin?.write(`done ${token}\n`);
  }

  /** The guard process stops every command that was not removed, and ends. */
  close(): void {
    this.isClosed = true;
    this.shell?.stdin?.end();
  }

  private send(line: string): void {
    if (this.shell === undefined) this.start();
    else this.shell.stdin?.write(`${line}\n`);
  }

  /** A new guard process receives everything that is watched. */
  private start(): void {
    if (this.isClosed || this.starts === startsMax) return;
    this.starts++;
    const shell = this.spawnShell();
    if (shell === undefined) return;
    this.shell = shell;
    shell.on('error', (error) => this.onEnd(shell, error.message));
    shell.on('exit', () => this.onEnd(shell, 'it has ended'));
    shell.stdin?.on('error', () => undefined);
    shell.unref();
    // The pipe is a socket of this program, which would keep it running.
    if (shell.stdin !== null && 'unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref();
    const folder = this.files.realFolder();
    const lines = folder.includes('\n') ? [] : [`folder ${folder}`];
    for (const [token, { rowNumber, leader, members }] of this.watched) {
      lines.push(`token ${token} ${rowNumber}`);
      if (leader !== undefined) lines.push(processLine('group', token, leader));
      for (const member of members) lines.push(processLine('member', token, member));
    }
    for (const line of lines) shell.stdin?.write(`${line}\n`);
  }

  /** Without a guard process commands run all the same: the next kernel finds them by their tokens. */
  private spawnShell(): ChildProcess | undefined {
    try {
      return spawn('/bin/sh', ['-c', guardScript], {
        cwd: '/',
        detached: true,
        env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C' },
        stdio: ['pipe', 'ignore', 'ignore'],
      });
    } catch (error) {
      this.logger.error({ error: String(error) }, 'the guard process of commands could not be started');
      return undefined;
    }
  }

  private onEnd(shell: ChildProcess, reason: string): void {
    if (this.shell !== shell) return;
    this.shell = undefined;
    if (this.isClosed) return;
    this.logger.warn({ reason }, 'the guard process of commands has ended');
    if (this.watched.size > 0) this.start();
  }
}

function processLine(what: 'group' | 'member', token: string, { pid, startTicks }: StartedProcess): string {
  return `${what} ${token} ${pid} ${startTicks}`;
}

/**
 * The program of the guard process, for any POSIX shell. It reads lines (`folder PATH`, `token T ROW`, `group T PID TICKS`,
 * `member T PID TICKS`, `done T`) and outlives the kernel that writes them: when its input ends, it stops every command that
 * is not done. A process group is signalled only while the start time of its leader is the one that was sent, or the leader
 * has ended since. Any other process only if it carries a token in its environment, holds the tether of a command open, or
 * one of its output files for writing alone; if it was sent as a member and has the same start time; or if it is below one
 * of these in the tree. Each is looked at again right before it is signalled.
 */
const guardScript = `
trap '' INT TERM HUP
tokens=' '
groups=' '
members=' '
folder=
while IFS= read -r line; do
  rest=\${line#* }
  token=\${rest%% *}
  case $line in
    "folder "*) folder=$rest ;;
    "token "*) tokens="$tokens$token:\${rest#* } " ;;
    "group "* | "member "*)
      rest=\${rest#* }
      entry="$token:\${rest%% *}:\${rest#* } "
      case $line in
        group*) groups=$groups$entry ;;
        *) members=$members$entry ;;
      esac ;;
    "done "*)
      for list in tokens groups members; do
        eval "entries=\\$$list"
        while :; do
          case $entries in
            *" $token:"*)
              rest="\${entries#* $token:}"
              entries="\${entries%% $token:*} \${rest#* }" ;;
            *) break ;;
          esac
        done
        eval "$list=\\$entries"
      done ;;
  esac
done
[ "$tokens" = "\${tokens#*[0-9a-f]}" ] && exit 0

# Sets ticks to the start time of a process; empty when it is gone. The one of a process that has ended is not in live.
look() {
  stat=
  ticks=
  live=
  read -r stat < "/proc/$1/stat" || return 0
  set -- \${stat##*) }
  state=$1
  shift 19
  ticks=$1
  case $state in [ZXx]) ;; *) live=$1 ;; esac
}

is_ours() {
  [ -d /proc/self ] || return 0
  look "$1"
  [ "$ticks" = "$2" ] || { [ -z "$ticks" ] && [ "$3" = known ]; }
}

by_environment() {
  set --
  for entry in $tokens; do set -- "$@" -e "\${entry%%:*}"; done
  for file in $(grep -lF "$@" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    echo "\${pid%/environ}"
  done
}

by_descriptor() {
  ls -l /proc/[0-9]*/fd | grep -F -e /fd: -e .tether -e "-> $folder/" | while IFS= read -r line; do
    name=\${line##*/}
    case $line in
      /proc/*/fd:)
        holder=\${line#/proc/}
        holder=\${holder%/fd:} ;;
      *" -> "*.tether*)
        case $tokens in *" \${name%%.*}:"*) echo "$holder" ;; esac ;;
      l-wx*"-> $folder/$name")
        case \${name#*.} in
          out | err | out.pipe | err.pipe)
            case $tokens in *":\${name%%.*} "*) echo "$holder" ;; esac ;;
        esac ;;
    esac
  done
}

by_pid() {
  for entry in $groups $members; do
    rest=\${entry#*:}
    look "\${rest%%:*}"
    [ "$live" = "\${rest#*:}" ] && echo "\${rest%%:*}"
  done
}

# Prints PID:TICKS of the live processes among the arguments, and of everything below them.
with_descendants() {
  if command -v awk > /dev/null; then
    cat /proc/[0-9]*/stat | awk -v "roots=$*" -v "self=$$" '
      { pid = $1; sub(/^.*\\) /, ""); state[pid] = $1; parent[pid] = $2; ticks[pid] = $20 }
      END {
        count = split(roots, root, " ")
        for (i = 1; i <= count; i++) found[root[i]] = 1
        do {
          more = 0
          for (pid in parent) if (!(pid in found) && (parent[pid] in found)) { found[pid] = 1; more = 1 }
        } while (more)
        for (pid in found)
          if ((pid in state) && state[pid] !~ /[ZXx]/ && pid != self && pid > 1) print pid ":" ticks[pid]
      }'
  else
    for pid in "$@"; do
      look "$pid"
      [ -n "$live" ] && [ "$pid" != $$ ] && echo "$pid:$live"
    done
  fi
}

known=' '
targets=
stop() {
  if [ -d /proc/self ]; then
    # What was found before counts also when it has left the tree since.
    earlier=
    for target in $targets; do
      look "\${target%%:*}"
      [ "$live" = "\${target#*:}" ] && earlier="$earlier \${target%%:*}"
    done
    targets=$(with_descendants $earlier $(by_pid) $(by_environment) $(by_descriptor))
  fi
  for entry in $groups; do
    rest=\${entry#*:}
    pid=\${rest%%:*}
    case $known in *" $pid "*) before=known ;; *) before= ;; esac
    if is_ours "$pid" "\${rest#*:}" "$before"; then
      known="$known$pid "
      kill -s "$1" -- "-$pid"
      kill -s CONT -- "-$pid"
    fi
  done
  for target in $targets; do
    pid=\${target%%:*}
    look "$pid"
    if [ "$live" = "\${target#*:}" ]; then
      kill -s "$1" "$pid"
      kill -s CONT "$pid"
    fi
  done
}

stop TERM
sleep 1
stop KILL
for pause in 0.1 0.2 0.4 0.8; do
  sleep $pause
  stop KILL
  [ -n "$targets" ] || break
done
`;
