/** Addresses of servers, which may hold passwords. */
const address = /\b(postgres(?:ql)?:\/\/)\S+/g;

/** A command line as other users of the machine may see it: without what addresses say after their scheme. */
export function hideAddresses(args: readonly string[]): string {
  return ['procura', ...args].map((argument) => argument.replaceAll(address, '$1…')).join(' ');
}
