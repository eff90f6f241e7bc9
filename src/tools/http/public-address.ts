import { addressBytes, type Cidr, cidrHas, parseCidr } from '../../capability/resource/cidr.js';

/**
 * Whether an address belongs to the public internet. Other addresses, such as of this machine, its network and the metadata
 * service of a cloud, often answer everybody who can reach them. `address` is in canonical form.
 */
export function isPublicAddress(address: string): boolean {
  const bytes = addressBytes(address);
  if (bytes.length === 4) return !isIn(bytes, notPublic4);
  // NAT64: the embedded IPv4 address is the one that is reached.
  if (cidrHas(translated, bytes)) return !isIn(bytes.slice(12), notPublic4);
  return cidrHas(global6, bytes) && !isIn(bytes, notPublic6);
}

export function isLoopback(address: string): boolean {
  return isIn(addressBytes(address), loopback);
}

const blocks = (texts: readonly string[]): readonly Cidr[] => texts.map((text) => parseCidr(text));

const loopback = blocks(['127.0.0.0/8', '::1/128']);
const translated = parseCidr('64:ff9b::/96');
const global6 = parseCidr('2000::/3');
const notPublic6 = blocks(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);
const notPublic4 = blocks([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]);

function isIn(bytes: readonly number[], among: readonly Cidr[]): boolean {
  return among.some((block) => cidrHas(block, bytes));
}
