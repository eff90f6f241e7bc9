import { Writable } from 'node:stream';

/**
 * Standard output for one purpose alone: whatever else in this program writes there, such as a tool that prints, is sent to
 * standard error instead. A reader that is gone is an error of the stream that is given back.
 */
export function takeStandardOutput(): Writable {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  stdout.removeAllListeners('error');
  // Told to whoever wrote.
  stdout.on('error', () => undefined);
  return new Writable({
    decodeStrings: false,
    write: (chunk: string, encoding, done) => void write(chunk, encoding, done),
  });
}
