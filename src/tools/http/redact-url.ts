export const hiddenMark = '[hidden]';
const hiddenValue = encodeURIComponent(hiddenMark);

/** Anywhere in the name of a header or parameter whose value is not shown. */
const secretName =
  /token|secret|passw|passphrase|pwd|key|auth|cookie|session|signature|credential|assertion|verifier|ticket|jwt|hmac|csrf|xsrf/i;
/** At the end of one of the words of such a name. */
const secretWord = /(?:sig|code|pin|sid|pass|otp|sas|mac|nonce)$/i;
/** The schemes of credentials, and the beginnings of well-known ones, which are secrets whatever their name is. */
const scheme = /^\s*(?:bearer|basic|digest|negotiate|token|apikey)\s/i;
const knownSecret =
  /^\s*(?:eyJ[\w-]{8,}\.|(?:gh[a-z]_|github_pat_|glpat-|sk-|xox[a-z]-|AKIA|ASIA|AIza|ya29\.)[\w-]{12})/;
const nestedMax = 2;

/** Whether the value of a header or parameter may be a secret, by its name or by the value itself. */
export function isSecret(name: string, value: string): boolean {
  return isSecretName(name) || isSecretValue(value);
}

/**
 * A URL, absolute or relative, as it may be shown: without user information and fragment, and without the values of query
 * parameters, and of parameters within its path, that may be secrets. Everything else stays as it is spelled. Linear.
 */
export function redactUrl(text: string): string {
  return redactNested(text, 0);
}

/** A header of a response as it may be shown: the URLs in it without secrets. */
export function redactUrlsIn(text: string): string {
  return text
    .split(/([\s<>"',]+)/)
    .map((part) => (/[?#@;]/.test(part) ? redactUrl(part) : part))
    .join('');
}

function redactNested(text: string, depth: number): string {
  const [address = '', ...fragments] = text.split('#');
  const [place = '', ...queries] = address.split('?');
  const query = queries.join('?');
  return [
    redactPath(withoutUser(place)),
    queries.length === 0 ? '' : `?${redactQuery(query, depth)}`,
    fragments.length === 0 ? '' : `#${hiddenValue}`,
  ].join('');
}

function withoutUser(place: string): string {
  const start = place.indexOf('//');
  if (start < 0) return place;
  const end = place.indexOf('/', start + 2);
  const authority = end < 0 ? place.slice(start + 2) : place.slice(start + 2, end);
  const at = authority.lastIndexOf('@');
  return at < 0 ? place : `${place.slice(0, start + 2)}${hiddenValue}${place.slice(start + 2 + at)}`;
}

/** Parameters within a path are separated by semicolons. */
function redactPath(place: string): string {
  return place
    .split('/')
    .map((segment) => {
      const [name = '', ...parameters] = segment.split(';');
      const shown = isSecretValue(decode(name)) ? hiddenValue : name;
      return [shown, ...parameters.map((parameter) => redactParameter(parameter, nestedMax))].join(';');
    })
    .join('/');
}

function redactQuery(query: string, depth: number): string {
  return query
    .split(/([&;])/)
    .map((part) => (part === '&' || part === ';' ? part : redactParameter(part, depth)))
    .join('');
}

function redactParameter(part: string, depth: number): string {
  const equals = part.indexOf('=');
  const name = decode(equals < 0 ? '' : part.slice(0, equals));
  const value = decode(part.slice(equals + 1));
  const prefix = part.slice(0, equals + 1);
  if (value !== '' && isSecret(name, value)) return `${prefix}${hiddenValue}`;
  if (!/[?#]|:\/\//.test(value)) return part;
  if (depth >= nestedMax) return `${prefix}${hiddenValue}`;
  const redacted = redactNested(value, depth + 1);
  return redacted === value ? part : `${prefix}${encodeURIComponent(redacted)}`;
}

function isSecretValue(value: string): boolean {
  return scheme.test(value) || knownSecret.test(value);
}

function isSecretName(name: string): boolean {
  if (secretName.test(name)) return true;
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').split(/[^A-Za-z0-9]+/);
  return words.some((word) => secretWord.test(word));
}

/** The text itself where it is not encoded as it should be. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
