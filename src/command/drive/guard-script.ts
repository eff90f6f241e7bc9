/**
 * What the guard does, for any POSIX shell. It is told of commands line by line on its input, and outlives the kernel that
 * tells it: when the input ends, whatever is not done is stopped. A group is signalled while the start of its leader is the
 * one that was told, or the leader has ended since; everything else only if it carries a token in its environment.
 */
export const guardScript = `
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
