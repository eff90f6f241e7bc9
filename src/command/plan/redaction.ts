import path from 'node:path';
import { announcesSecret, headOfSecret, namesSecret, redactedMark, redactText } from '../../base/secret-patterns.js';
import { splitShellText } from './shell-words.js';

const argumentCharsMax = 256;
const argumentsMax = 64;
const lineCharsMax = 2_048;
/** The rest of an argument is dropped before it is searched. */
const inspectedCharsMax = 1_024;
/** Of all arguments; those after them are not shown. */
const inspectedTotalMax = 16 * inspectedCharsMax;
/** Texts of shells inside texts of shells; a deeper one is not shown. */
const nestingMax = 3;

/**
 * The arguments of a command as they may be stored and shown: without the values of flags, variables, headers and members
 * whose name says that they are secret, credentials, and tokens of well-known shapes, also inside the text of a shell. Each
 * argument, and their number, is limited. Removes too much rather than too little.
 */
export function redactArguments(argv: readonly string[]): string[] {
  const words = new PrecedingWords();
  const redacted: string[] = [];
  let inspected = 0;
  for (const argument of argv) {
    if (redacted.length === argumentsMax || inspected > inspectedTotalMax) return [...redacted, '…'];
    inspected += Math.min(argument.length, inspectedCharsMax);
    redacted.push(truncate(redactWord(argument, words, 0), argumentCharsMax));
  }
  return redacted;
}

/** The command as one line, with shell special characters quoted. */
export function commandLine(argv: readonly string[]): string {
  return truncate(argv.map(quote).join(' '), lineCharsMax);
}

const shells = new Set([
  'sh',
  'bash',
  'dash',
  'zsh',
  'ksh',
  'mksh',
  'fish',
  'ash',
  'csh',
  'tcsh',
  'su',
  'busybox',
  'eval',
]);

/** Short flags of programs, or of their commands, whose value is a secret. */
const secretFlags: Readonly<Record<string, readonly string[]>> = {
  curl: ['-b', '-E'],
  http: ['-a'],
  https: ['-a'],
  ipmitool: ['-P'],
  ldapadd: ['-w'],
  ldapmodify: ['-w'],
  ldapsearch: ['-w'],
  login: ['-p'],
  mariadb: ['-p'],
  mongo: ['-p'],
  mongosh: ['-p'],
  mysql: ['-p'],
  mysqladmin: ['-p'],
  mysqldump: ['-p'],
  openssl: ['-k', '-K'],
  'redis-cli': ['-a'],
  smbclient: ['-U'],
  sqlcmd: ['-P'],
  'ssh-keygen': ['-N', '-P'],
  sshpass: ['-p'],
  unzip: ['-P'],
  zip: ['-P'],
  '7z': ['-p'],
};

/** The words of a command before the one that is looked at. */
class PrecedingWords {
  private readonly last: string[] = [];
  private readonly flags = new Set<string>();
  private hasShell = false;

  add(word: string): void {
    this.last.unshift(word);
    this.last.length = Math.min(this.last.length, 2);
    const name = path.basename(word.slice(0, 256));
    if (shells.has(name)) this.hasShell = true;
    if (Object.hasOwn(secretFlags, name)) for (const flag of secretFlags[name] ?? []) this.flags.add(flag);
  }

  /** Whether the next word is a secret, because of the word before it; `--` may stand between them. */
  get announceSecret(): boolean {
    const [last = '', beforeLast = ''] = this.last;
    if (last === '=' || last === ':') return namesSecret(beforeLast);
    const before = last === '--' ? beforeLast : last;
    return this.flags.has(before) || announcesSecret(before);
  }

  /** Whether the next word is `user:password`. */
  get announceUser(): boolean {
    return /^(?:-[uU]|--(?:proxy-)?user|--userpwd)$/.test(this.last[0] ?? '');
  }

  /** Whether the next word is the text of a shell. */
  get announceShellText(): boolean {
    const [last = ''] = this.last;
    return this.hasShell && (/^-[a-zA-Z]{0,8}c$/.test(last) || last === 'eval');
  }

  /** The flag that a word begins with and whose secret value follows without a blank. */
  flagOf(word: string): string | undefined {
    return word.length > 2 && this.flags.has(word.slice(0, 2)) ? word.slice(0, 2) : undefined;
  }
}

function redactWord(word: string, before: PrecedingWords, nesting: number): string {
  const text = word.slice(0, inspectedCharsMax).toWellFormed();
  const redacted = redactInContext(text, before, nesting);
  before.add(text);
  // A word that was cut in two may be a part of a secret that is not recognized.
  return word.length > inspectedCharsMax ? redacted.replace(/\S{0,256}$/, '…') : redacted;
}

function redactInContext(text: string, before: PrecedingWords, nesting: number): string {
  if (before.announceSecret) return redactedMark;
  if (before.announceShellText) return redactShellText(text, nesting);
  const head = before.flagOf(text) ?? headOfSecret(text) ?? userOf(text, before);
  if (head !== undefined) return `${head}${redactedMark}`;
  const words = /\s/.test(text) ? redactWords(text, nesting) : text;
  return redactText(words, 'other');
}

/** The part before the password of `user:password`, in the word after `-u`, or in the same word. */
function userOf(text: string, before: PrecedingWords): string | undefined {
  const [user] = (before.announceUser ? /^[^:%]*[:%](?=.)/s : /^-[uU][^:%\s]{0,64}[:%](?=.)/s).exec(text) ?? [];
  return user;
}

function redactShellText(text: string, nesting: number): string {
  return nesting === nestingMax ? redactedMark : redactText(redactWords(text, nesting), 'shell');
}

/** Redacts every word of a text as if it were an argument. */
function redactWords(text: string, nesting: number): string {
  if (nesting === nestingMax) return text;
  let before = new PrecedingWords();
  const parts = splitShellText(text).map(({ kind, raw, value }) => {
    if (kind === 'operator') before = new PrecedingWords();
    if (kind !== 'word') return raw;
    const redacted = redactWord(value, before, nesting + 1);
    return redacted === value ? raw : redacted;
  });
  return parts.join('');
}

function truncate(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`.toWellFormed();
}

function quote(argument: string): string {
  return /^[\w@%+=:,./…[\]-]+$/.test(argument) ? argument : JSON.stringify(argument);
}
