import { type ChildProcess, spawn } from 'node:child_process';
import { inject, injectable } from 'inversify';
import { Logger } from '../../base/logger.js';
import type { HostIdentity } from '../../kernel/node/node-repository.js';

/** The number of starts of the guard process, including restarts after somebody has ended it. */
const startsMax = 10;

/**
 * Keeps commands from outliving a kernel that crashes: a separate process that receives their tokens and groups over a pipe,
 * and stops those that are left when the pipe closes. It never keeps the host program from ending.
 */
@injectable()
export class CommandGuard {
  private shell: ChildProcess | undefined;
  private starts = 0;
  private isClosed = false;
  /** The leaders of the commands that it watches, by token; undefined until the leader is known. */
  private readonly watched = new Map<string, HostIdentity | undefined>();

  constructor(@inject(Logger) private readonly logger: Logger) {}

  /** To be called before the command is started. */
  addToken(token: string): void {
    this.watched.set(token, undefined);
    this.send(`token ${token}`);
  }

  /** To be called as soon as the leader of its process group is known. */
  addGroup(token: string, leader: HostIdentity): void {
    this.watched.set(token, leader);
    this.send(groupLine(token, leader));
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
    for (const [token, leader] of this.watched) {
      shell.stdin?.write(`token ${token}\n`);
      if (leader !== undefined) shell.stdin?.write(`${groupLine(token, leader)}\n`);
    }
  }

  /** Without a guard process commands run all the same: the next kernel finds them by their tokens. */
  private spawnShell(): ChildProcess | undefined {
    try {
      return spawn('/bin/sh', ['-c', guardScript], {
        cwd: '/',
        detached: true,
        env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
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

function groupLine(token: string, { pid, startTicks }: HostIdentity): string {
  return `group ${token} ${pid} ${startTicks}`;
}

/**
 * The program of the guard process, for any POSIX shell. It reads lines (`token T`, `group T PID TICKS`, `done T`) and
 * outlives the kernel that writes them: when its input ends, it stops every command that is not done. A process group is
 * signalled only while the start time of its leader is the one that was sent, or the leader has ended since; any other
 * process only if it carries a token in its environment.
 */
const guardScript = `
trap '' INT TERM HUP
tokens=' '
groups=' '
while read -r what token pid ticks; do
  case $what in
    token) tokens="$tokens$token " ;;
    group) groups="$groups$token:$pid:$ticks " ;;
    done)
      tokens="\${tokens%% $token *} \${tokens#* $token }"
      case $groups in
        *" $token:"*)
          rest="\${groups#* $token:}"
          groups="\${groups%% $token:*} \${rest#* }" ;;
      esac ;;
  esac
done
[ "$tokens" = "\${tokens#*[0-9a-f]}" ] && exit 0

ticks_of() {
  stat=
  read -r stat < "/proc/$1/stat" || return 0
  set -- \${stat##*) }
  shift 19
  echo "$1"
}

is_ours() {
  [ -d /proc/self ] || return 0
  now=$(ticks_of "$1")
  [ "$now" = "$2" ] || { [ -z "$now" ] && [ "$3" = known ]; }
}

known=' '
stop() {
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
  [ -d /proc/self ] || return 0
  set -- "$1"
  signal=$1
  shift
  for token in $tokens; do set -- "$@" -e "$token"; done
  for file in $(grep -lF "$@" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    kill -s "$signal" "\${pid%/environ}"
    kill -s CONT "\${pid%/environ}"
  done
}

stop TERM
sleep 1
stop KILL
sleep 0.1
stop KILL
`;
