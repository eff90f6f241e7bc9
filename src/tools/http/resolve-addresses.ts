import { lookup } from 'node:dns/promises';
import { canonicalAddress } from '../../capability/resource/cidr.js';
import { isAddress } from '../../capability/resource/net-host.js';
import type { ToolContext } from '../tool.js';
import { type NetTarget, netResource } from './net-target.js';
import { isLoopback, isPublicAddress } from './public-address.js';

/** Finds the addresses of a host name. */
export type AddressLookup = (host: string) => Promise<readonly string[]>;

export const systemLookup: AddressLookup = async (host) => {
  const records = await lookup(host, { all: true });
  return records.map(({ address }) => address);
};

const addressesMax = 8;

/**
 * The addresses that a request may be sent to, in canonical form. The host name is allowed already; a rule can still deny
 * an address, and one that is not public needs a capability of its own, because whoever controls the name decides where it
 * leads. An address that was given instead of a name is not checked again. Throws CAPABILITY_DENIED when no address may be
 * used. Looks the name up once.
 */
export async function resolveAddresses(
  context: ToolContext,
  { host, port }: NetTarget,
  method: string,
  lookup: AddressLookup,
): Promise<readonly string[]> {
  if (isAddress(host)) return [withoutBrackets(host)];
  const resolved = (await lookup(host)).slice(0, addressesMax).map(canonicalAddress);
  const addresses = resolved.filter((address) => address !== undefined);
  const usable: string[] = [];
  for (const address of addresses) {
    if (await isUsable(context, host, address, port, method)) usable.push(address);
  }
  const [first] = addresses;
  if (usable.length > 0 || first === undefined) return usable;
  // Records the refusal; the authority may also have changed in between.
  await context.require('call', resourceOf(first, port), { method });
  return [first];
}

async function isUsable(
  context: ToolContext,
  host: string,
  address: string,
  port: number,
  method: string,
): Promise<boolean> {
  const resource = resourceOf(address, port);
  const { effect, code } = await context.process.capabilities.check('call', resource, { method });
  if (code === 'DENY_RULE') return false;
  const isCoveredByName = isPublicAddress(address) || (isLoopback(address) && isLocalName(host));
  if (isCoveredByName && effect !== 'ask') return true;
  if (effect === 'deny') return false;
  await context.require('call', resource, { method });
  return true;
}

function isLocalName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

function resourceOf(address: string, port: number): string {
  return netResource(address.includes(':') ? `[${address}]` : address, port);
}

function withoutBrackets(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host;
}
