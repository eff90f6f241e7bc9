const redactedMark = '[redacted]';
const argumentCharsMax = 256;
const argumentsMax = 64;
const lineCharsMax = 2_048;
/** More of an argument is never looked at: what is shown of it is far shorter. */
const inspectedCharsMax = 4_096;

/** A name that says that its value is secret. `author` is none. */
const secretWord = '(?:token|secret|passw(?:or)?d|passphrase|pwd|key|credential|auth(?!ors?(?![a-z])))';
const name = `[\\w.-]{0,64}${secretWord}[\\w.-]{0,64}`;
const wholeAssignment = new RegExp(`^(-{0,2}${name}\\s*[=:])[^]*$`, 'i');
const bareFlag = new RegExp(`^-{1,2}${name}$`, 'i');
/** Up to where a shell would end it. */
const value = `(?:"[^"]*"?|'[^']*'?|[^\\s&;"'])+`;
const innerAssignment = new RegExp(`(${name}["']?\\s{0,8}[=:]\\s{0,8})${value}`, 'gi');
const innerFlag = new RegExp(`((?:^|[\\s"'])-{1,2}${name}\\s{1,8})${value}`, 'gi');
const bearer = /\b(bearer|basic)(\s{1,8})[^\s"']+/gi;
const urlCredentials = /([a-z][a-z0-9+.-]{0,32}:\/\/)[^\s"']{1,1024}@/gi;

/**
 * The arguments of a command as they may be stored and shown: without the values of flags, variables, headers and members
 * that are named for something secret, bearer tokens and credentials in addresses; each one and all of them bounded. It
 * would rather remove too much.
 */
export function redactArguments(argv: readonly string[]): string[] {
  const shown = argv.slice(0, argumentsMax).map((argument, index) => {
    const before = index === 0 ? '' : (argv[index - 1] ?? '');
    return truncate(
      bareFlag.test(before) || /^bearer$/i.test(before) ? redactedMark : redactArgument(argument),
      argumentCharsMax,
    );
  });
  return argv.length > argumentsMax ? [...shown, '…'] : shown;
}

/** One line for people. What would be read otherwise by a shell is quoted. */
export function commandLine(shown: readonly string[]): string {
  return truncate(shown.map(quote).join(' '), lineCharsMax);
}

function redactArgument(argument: string): string {
  const text = argument.slice(0, inspectedCharsMax).toWellFormed();
  const named = wholeAssignment.exec(text);
  if (named !== null) return `${named[1]}${redactedMark}`;
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
