import { invalidInput } from '../../base/errors.js';
import { canonicalHost, isAddress } from './net-host.js';

/** A block of addresses: those whose first `bits` bits are the ones of `bytes`. */
export interface Cidr {
  readonly bytes: readonly number[];
  readonly bits: number;
}

/** Reads `ADDRESS/BITS` in its canonical spelling. Throws INVALID_INPUT, with the right spelling where there is one. */
export function parseCidr(text: string, path = 'cidr'): Cidr {
  const slash = text.lastIndexOf('/');
  const address = slash < 0 ? undefined : canonicalAddress(text.slice(0, slash));
  const bits = bitsOf(text.slice(slash + 1));
  const bytes = address === undefined ? [] : addressBytes(address);
  if (address === undefined || bits > bytes.length * 8) {
    throw invalidInput(path, 'is not a block of addresses', 'Write it as ADDRESS/BITS, such as "10.0.0.0/8".');
  }
  const network = bytes.map((byte, index) => byte & maskOfByte(bits, index));
  const canonical = `${addressText(network)}/${bits}`;
  if (canonical !== text) {
    throw invalidInput(path, 'is not spelled canonically', `Write it as ${JSON.stringify(canonical)}.`);
  }
  return { bytes: network, bits };
}

export function cidrHas(block: Cidr, address: readonly number[]): boolean {
  if (block.bytes.length !== address.length) return false;
  return block.bytes.every((byte, index) => byte === ((address[index] ?? 0) & maskOfByte(block.bits, index)));
}

export function cidrCovers(parent: Cidr, child: Cidr): boolean {
  return parent.bits <= child.bits && cidrHas(parent, child.bytes);
}

/** An IP address without brackets, IPv4 where it is mapped IPv4; undefined for other text. */
export function canonicalAddress(text: string): string | undefined {
  const host = canonicalHost(text) ?? canonicalHost(`[${text}]`);
  if (host === undefined || !isAddress(host)) return undefined;
  return host.startsWith('[') ? host.slice(1, -1) : host;
}

/** The 4 or 16 bytes of an address that `canonicalAddress` gave. */
export function addressBytes(address: string): readonly number[] {
  if (!address.includes(':')) return address.split('.').map(Number);
  const [before = '', after] = address.split('::');
  const head = wordsOf(before);
  const tail = wordsOf(after ?? '');
  const zeros = new Array<number>(8 - head.length - tail.length).fill(0);
  return [...head, ...zeros, ...tail].flatMap((word) => [word >> 8, word & 255]);
}

function addressText(bytes: readonly number[]): string {
  if (bytes.length === 4) return bytes.join('.');
  const words = Array.from({ length: 8 }, (_, index) => ((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0));
  return canonicalAddress(words.map((word) => word.toString(16)).join(':')) ?? '';
}

function wordsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16));
}

function bitsOf(text: string): number {
  return /^(0|[1-9]\d{0,2})$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
}

/** The bits of byte `index` that lie within the first `bits`. */
function maskOfByte(bits: number, index: number): number {
  const within = Math.min(8, Math.max(0, bits - index * 8));
  return (0xff << (8 - within)) & 0xff;
}
