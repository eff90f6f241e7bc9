import { KernelError } from '../../base/errors.js';
import { addressBytes, canonicalAddress, cidrHas, parseCidr } from '../resource/cidr.js';
import { canonicalHost } from '../resource/net-host.js';
import { matches, parsePattern, parseRequest, segmentCovers } from '../resource/resource.js';

export interface AtomRefusal {
  readonly reason: string;
  readonly hint?: string;
}

/**
 * A path argument must be spelled canonically, because what is checked is what the tool gets: relative to the
 * workspace, or absolute inside it.
 */
export function pathRefusal(pattern: string, value: string, workspace: string | undefined): AtomRefusal | undefined {
  const base = value.startsWith('/') ? absoluteBase(value, workspace) : '';
  if (base === undefined) return { reason: 'is an absolute path that is not in the workspace', hint: relativeHint };
  const inside = base === '' ? value : value.slice(base.length) || '.';
  const request = parseFsRequest(inside);
  if (request === undefined) return { reason: 'is not a path inside the workspace', hint: relativeHint };
  const path = request.text.slice('fs:'.length);
  const spelled = base === '' ? path : path === '.' ? base.slice(0, -1) || '/' : base + path;
  if (spelled !== value) return otherSpelling(spelled);
  if (matches(parsePattern(`fs:${pattern}`), request)) return undefined;
  return { reason: `is not a path within ${pattern}` };
}

/** A host argument must be spelled canonically; an IPv6 address may stand with or without its brackets. */
export function hostRefusal(pattern: string, value: string): AtomRefusal | undefined {
  const host = canonicalHost(value) ?? canonicalHost(`[${value}]`);
  if (host === undefined) return { reason: 'is not a host' };
  if (value !== host && `[${value}]` !== host) return otherSpelling(host);
  return segmentCovers(pattern, host) ? undefined : { reason: `is not a host within ${pattern}` };
}

export function addressRefusal(cidr: string, value: string): AtomRefusal | undefined {
  const address = canonicalAddress(value);
  if (address === undefined) return { reason: 'is not an IP address' };
  if (value !== address && value !== `[${address}]`) return otherSpelling(address);
  return cidrHas(parseCidr(cidr), addressBytes(address)) ? undefined : { reason: `is not an address within ${cidr}` };
}

const relativeHint = 'Give a path relative to the workspace, such as "src/main.ts".';

function otherSpelling(spelled: string): AtomRefusal {
  return { reason: 'is not spelled canonically', hint: `Write it as ${JSON.stringify(spelled)}.` };
}

/** The workspace with a slash behind it, if `value` is the workspace or lies below it. */
function absoluteBase(value: string, workspace: string | undefined): string | undefined {
  if (workspace === undefined) return undefined;
  const base = workspace.endsWith('/') ? workspace : `${workspace}/`;
  return value.startsWith(base) || `${value}/` === base ? base : undefined;
}

function parseFsRequest(path: string) {
  try {
    return parseRequest(`fs:${path}`);
  } catch (error) {
    if (error instanceof KernelError) return undefined;
    throw error;
  }
}
