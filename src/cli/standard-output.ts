import { Writable } from 'node:stream';

/**
 * Reserves standard output for the returned stream: anything else that writes there, such as a tool that prints, goes to
 * standard error instead. A closed pipe is an error of the returned stream.
 */
export function takeStandardOutput(): Writable {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  stdout.removeAllListeners('error');
  // The write callback reports the error.
  stdout.on('error', () => undefined);
  return new Writable({
    decodeStrings: false,
    write: (chunk: string, encoding, done) => void write(chunk, encoding, done),
  });
}
