import type { JsonObject, JsonValue } from './json.js';

/** Stands for what is not shown. */
export const redactedMark = '[redacted]';

/** In the name of a secret value. `author` is not matched by `auth`. */
const word =
  '(?:token|secret|passw(?:or)?d|passphrase|passcode|pass(?![a-z])|pwd|pw(?![a-z])|key|credential|creds?(?![a-z])' +
  '|auth(?!ors?(?![a-z]))|cookie|session[-_.]?id|jwt|signature|otp(?![a-z])|bearer)';
/** From the word to the end of the name; what stands before it needs no match. */
const nameEnd = `${word}[\\w.-]{0,64}`;
const wholeName = `[\\w.-]{0,64}?${nameEnd}`;

const secretName = new RegExp(word, 'i');
const assignmentStart = new RegExp(`^[-/+]{0,2}${wholeName}["']?\\s{0,8}[=:]`, 'i');
const schemeWord = /^(?:bearer|basic|digest|negotiate)$/i;

/** Whether the text names a secret value. */
export function namesSecret(text: string): boolean {
  return secretName.test(text);
}

/** Whether a value that follows is secret: after a flag, or the beginning of an assignment, that is named for one. */
export function announcesSecret(text: string): boolean {
  if (schemeWord.test(text)) return true;
  if (text.startsWith('-') && !/[=:]/.test(text)) return secretName.test(text);
  return assignmentStart.exec(text)?.[0].length === text.length;
}

/** Of an argument that is all one assignment or flag with a secret value: the part before the value. */
export function headOfSecret(text: string): string | undefined {
  const assignment = assignmentStart.exec(text)?.[0];
  if (assignment !== undefined) return assignment.length === text.length ? undefined : assignment;
  if (!text.startsWith('-')) return undefined;
  // A flag and its value in one argument, also where the name of the flag has blanks.
  const [name = ''] = /^[^=:]*/.exec(text) ?? [];
  const found = secretName.exec(name);
  if (found === null) return undefined;
  const end =
    found.index + found[0].length + (/^[\w.-]*/.exec(text.slice(found.index + found[0].length))?.[0].length ?? 0);
  return end === text.length ? undefined : text.slice(0, end + 1);
}

const quoted = `\\\\{1,4}"[^"\\\\]*(?:\\\\{1,4}")?|"(?:[^"\\\\]|\\\\[^])*"?|'[^']*'?`;
/** A value up to where a shell ends it. */
const shellValue = `(?:${quoted}|\\\\[^]|[^\\s&;|<>"'\\\\])+`;
/** A value in a text of which nothing is known: quoted, or to the next parameter or line. */
const openValue = `(?:${quoted}|[^&\\n"'](?:${quoted}|[^&\\n"'])*)`;
/** As `openValue`, where `&` ends nothing. */
const openLine = `(?:${quoted}|[^\\n"'](?:${quoted}|[^\\n"'])*)`;
const blanks = '\\s{0,8}';

interface Replacement {
  readonly pattern: RegExp;
  readonly by: string;
}

function secretAfter(before: string, value: string, flags: string): Replacement {
  return { pattern: new RegExp(`(${before})${value}`, flags), by: `$1${redactedMark}` };
}

/** What is a secret by its shape or by its place, in any text. */
const everywhere: readonly Replacement[] = [
  { pattern: /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY.*/gs, by: redactedMark },
  {
    pattern: new RegExp(
      [
        '\\bgh[a-z]_[A-Za-z0-9]{4,}',
        '\\bgithub_pat_\\w{4,}',
        '\\bgl[a-z]{2,6}-[\\w-]{8,}',
        '\\bsk-[\\w-]{8,}',
        '\\b[spr]k_(?:live|test)_\\w{4,}',
        '\\b(?:xox[a-z]|xapp)-[\\w-]{4,}',
        '\\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{8,}',
        '\\bAIza[\\w-]{16,}',
        '\\bya29\\.[\\w.-]{8,}',
        '\\beyJ[\\w-]{8,}(?:\\.[\\w-]*){0,4}',
        '\\b(?:npm|hf|dop_v1|shpat|pypi|AGE-SECRET-KEY)[_-][A-Za-z0-9_-]{12,}',
        '\\bSG\\.[\\w.-]{12,}',
      ].join('|'),
      'g',
    ),
    by: redactedMark,
  },
  {
    pattern: new RegExp(
      `\\b((?:proxy-|www-)?auth(?:orization|enticate|entication)|(?:set-)?cookie2?|x-[\\w-]{0,32}${nameEnd})` +
        `(\\\\{0,4}["']?${blanks}:)(?!\\[redacted\\])[^\\n]+`,
      'gi',
    ),
    by: `$1$2${redactedMark}`,
  },
  { pattern: /\b(digest|negotiate|aws4-hmac-sha256|hmac)(\s{1,8})(?=\S{0,64}[=,])[^\n]+/gi, by: `$1$2${redactedMark}` },
  { pattern: /\b(bearer|basic)(\s{1,8})[^\s"']+/gi, by: `$1$2${redactedMark}` },
  { pattern: /([a-z][a-z0-9+.-]{0,32}:\/\/)[^\s"']{1,512}@/gi, by: `$1${redactedMark}@` },
  { pattern: /((?:^|[\s"'=,])[^\s"'/@:=,]{1,64}:)[^\s"'/@:]{1,256}@/g, by: `$1${redactedMark}@` },
  { pattern: /([?&#;](?:sig|code|hmac|ticket|assertion|se|sp|st)=)[^&\s"'#]+/gi, by: `$1${redactedMark}` },
];

/** What stands in the text of a shell. */
const inShell: readonly Replacement[] = [
  secretAfter(`${nameEnd}\\\\{0,4}["']?${blanks}[=:]${blanks}`, shellValue, 'gi'),
  secretAfter(`(?:^|[\\s"'])-{1,2}[\\w.-]{0,32}?${nameEnd}\\s{1,8}`, shellValue, 'gi'),
  secretAfter(`(?:^|\\s)-[uU]\\s{0,8}["']?[^\\s:%"']{0,64}[:%]`, shellValue, 'g'),
];

/** What stands in any other text: where a value ends is not known. */
const inOther: readonly Replacement[] = [
  secretAfter(`${nameEnd}\\\\{0,4}["']?${blanks}=${blanks}`, openValue, 'gi'),
  secretAfter(`${nameEnd}\\\\{0,4}["']?${blanks}:${blanks}`, openLine, 'gi'),
  secretAfter(`(?:^|[\\s"'])-{1,2}[\\w.-]{0,32}?${nameEnd}\\s{1,8}`, openLine, 'gi'),
  secretAfter(`(?:^|\\s)-[uU]\\s{0,8}["']?[^\\s:%"']{0,64}[:%]`, openLine, 'g'),
];

/** A number, where it counts something: `500`, `12,345`, `1.5k`, `80%`. */
const count = '[-+~<>]?\\d[\\d,._]{0,18}[kKmM%]?(?![\\w+/=-])';
const wordOrAssignment = `[a-z]{1,16}(?![\\w+/=])|[a-z][\\w.-]{0,64}["']?${blanks}[=:]`;
/** After a count: the end of the sentence, the list or the line, a bound such as `/ 4096`, a word, or the next assignment. */
const countEnd = `(?=\\s{0,8}(?:$|[\\n,;&|()[\\]{}.]|/\\s{0,8}\\d|${wordOrAssignment}))`;
/** Names that are in the plural, or that say that they count. */
const countName =
  '(?:(?:token|secret|passw(?:or)?d|passphrase|key|credential|cred|cookie|session[-_.]?id|signature|jwt|otp)s(?![a-z])' +
  '(?:[-_.]?(?:count|total|used|left|limit|max|min|in|out))?|(?:token|key|cookie|secret|credential|signature)s?[-_.]?' +
  '(?:count|total|limit|budget|usage|used|left|max|min))';
const assigns = `\\\\{0,4}["']?${blanks}[=:]${blanks}`;
/**
 * An assignment of a count, which is not secret: any number to a name that counts, or one of few digits to the bare name
 * `token` or `key`. A number of more digits may be a one-time code, and a password may be a number.
 */
const countAssignment =
  `(?:[\\w.-]{0,64}?${countName}${assigns}${count}${countEnd}` +
  `|(?<![\\w.-])(?:token|key)${assigns}\\d{1,5}(?=\\s{0,8}(?:$|[\\n,;&)\\]}])))`;

/** What stands in a line of a log: as `inOther`, and counts are not secret. */
const inLog: readonly Replacement[] = inOther.map(({ pattern, by }) => ({
  pattern: new RegExp(`(?!${countAssignment})${pattern.source}`, pattern.flags),
  by,
}));

const replacements = { shell: inShell, other: inOther, log: inLog } as const;

/** Replaces what looks like a secret in a text. Linear: every repetition is bounded, or ends at what the next one begins with. */
export function redactText(text: string, syntax: keyof typeof replacements): string {
  let redacted = text;
  for (const { pattern, by } of [...everywhere, ...replacements[syntax]]) {
    redacted = redacted.replace(pattern, by);
  }
  return redacted;
}

const wholeCount = new RegExp(`^${countAssignment}$`, 'i');

/**
 * The facts of a log line without what looks like a secret: texts and numbers below a member that is named for one, unless they
 * count something, and parts of other texts and of names.
 */
export function redactFacts(facts: JsonObject): JsonObject {
  return redactMembers(facts, undefined);
}

/** `secret` is the name of the nearest member above that is named for a secret. */
function redactMembers(members: JsonObject, secret: string | undefined): JsonObject {
  const redacted = Object.entries(members).map(([name, value]) => {
    const nearest = namesSecret(name) ? name : secret;
    return [redactText(name, 'log'), redactValue(value, nearest)] as const;
  });
  return Object.fromEntries(redacted);
}

function redactValue(value: JsonValue, secret: string | undefined): JsonValue {
  if (Array.isArray(value)) return value.map((item) => redactValue(item, secret));
  if (typeof value === 'object' && value !== null) return redactMembers(value as JsonObject, secret);
  if (typeof value === 'string') return secret === undefined ? redactText(value, 'log') : redactedMark;
  if (typeof value !== 'number' || secret === undefined) return value;
  return wholeCount.test(`${secret}: ${value}`) ? value : redactedMark;
}
