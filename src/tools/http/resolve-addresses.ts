import { lookup } from 'node:dns/promises';
import { canonicalAddress } from '../../capability/resource/cidr.js';
import { isAddress } from '../../capability/resource/net-host.js';
import type { ToolContext } from '../tool.js';
import { type NetTarget, netResource } from './net-target.js';
import { isLoopback, isPublicAddress } from './public-address.js';

/** The addresses of a name. */
export type AddressLookup = (host: string) => Promise<readonly string[]>;

export const systemLookup: AddressLookup = async (host) => {
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
};

const addressesMax = 8;

/**
 * The addresses that a request may be sent to, in canonical form. The name has been allowed already. A rule that forbids an
 * address is kept; one that is not public needs a capability of its own, unless it was named itself: who controls a name
 * decides where it leads. Throws CAPABILITY_DENIED when there is none. Looks the name up once.
 */
export async function resolveAddresses(
  context: ToolContext,
  { host, port }: NetTarget,
  method: string,
  find: AddressLookup,
): Promise<readonly string[]> {
  if (isAddress(host)) return [withoutBrackets(host)];
  const found = (await find(host)).slice(0, addressesMax).map(canonicalAddress);
  const addresses = found.filter((address) => address !== undefined);
  const usable: string[] = [];
  for (const address of addresses) {
    if (await mayUse(context, host, address, port, method)) usable.push(address);
  }
  const [first] = addresses;
  if (usable.length > 0 || first === undefined) return usable;
  // It is refused on record, unless that has changed meanwhile.
  await context.require('call', resourceOf(first, port), { method });
  return [first];
}

async function mayUse(
  context: ToolContext,
  host: string,
  address: string,
  port: number,
  method: string,
): Promise<boolean> {
  const resource = resourceOf(address, port);
  const { effect, code } = await context.process.capabilities.check('call', resource, { method });
  if (code === 'DENY_RULE') return false;
  const isFree = isPublicAddress(address) || (isLoopback(address) && isLocalName(host));
  if (isFree && effect !== 'ask') return true;
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
