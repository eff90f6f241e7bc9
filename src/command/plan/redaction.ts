const redactedMark = '[redacted]';
const argumentCharsMax = 256;
const argumentsMax = 64;
const lineCharsMax = 2_048;
/** The rest of an argument is dropped before it is searched. */
const inspectedCharsMax = 4_096;

/** In the name of a secret value. `author` is not matched by `auth`. */
const secretWord = '(?:token|secret|passw(?:or)?d|passphrase|pwd|key|credential|auth(?!ors?(?![a-z])))';
const name = `[\\w.-]{0,64}${secretWord}[\\w.-]{0,64}`;
const wholeAssignment = new RegExp(`^(-{0,2}${name}\\s*[=:])[^]*$`, 'i');
const bareFlag = new RegExp(`^-{1,2}${name}$`, 'i');
/** A value, up to where a shell would end it. */
const value = `(?:"[^"]*"?|'[^']*'?|[^\\s&;"'])+`;
const innerAssignment = new RegExp(`(${name}["']?\\s{0,8}[=:]\\s{0,8})${value}`, 'gi');
const innerFlag = new RegExp(`((?:^|[\\s"'])-{1,2}${name}\\s{1,8})${value}`, 'gi');
const bearer = /\b(bearer|basic)(\s{1,8})[^\s"']+/gi;
const urlCredentials = /([a-z][a-z0-9+.-]{0,32}:\/\/)[^\s"']{1,1024}@/gi;

/**
 * The arguments of a command as they may be stored and shown: without the values of flags, variables, headers and members
 * whose name says that they are secret, bearer tokens and credentials in URLs. Each argument, and their number, is limited.
 * Removes too much rather than too little.
 */
export function redactArguments(argv: readonly string[]): string[] {
  const redacted = argv.slice(0, argumentsMax).map((argument, index) => {
    const previous = index === 0 ? '' : (argv[index - 1] ?? '');
    return truncate(
      bareFlag.test(previous) || /^bearer$/i.test(previous) ? redactedMark : redactArgument(argument),
      argumentCharsMax,
    );
  });
  return argv.length > argumentsMax ? [...redacted, '…'] : redacted;
}

/** The command as one line, with shell special characters quoted. */
export function commandLine(argv: readonly string[]): string {
  return truncate(argv.map(quote).join(' '), lineCharsMax);
}

function redactArgument(argument: string): string {
  const text = argument.slice(0, inspectedCharsMax).toWellFormed();
  const assignment = wholeAssignment.exec(text);
  if (assignment !== null) return `${assignment[1]}${redactedMark}`;
  return text
    .replace(bearer, `$1$2${redactedMark}`)
    .replace(urlCredentials, `$1${redactedMark}@`)
    .replace(innerAssignment, `$1${redactedMark}`)
    .replace(innerFlag, `$1${redactedMark}`);
}

function truncate(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`.toWellFormed();
}

function quote(argument: string): string {
  return /^[\w@%+=:,./…[\]-]+$/.test(argument) ? argument : JSON.stringify(argument);
}
