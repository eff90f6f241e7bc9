/** Cuts what a program writes into lines, which are its messages. */
export class MessageLines {
  private parts: Buffer[] = [];
  private bytes = 0;

  constructor(private readonly bytesMax: number) {}

  /** The lines that are complete with this. Throws when one is too long. */
  *add(chunk: Buffer): Generator<string> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      this.keep(chunk.subarray(start, end));
      const line = Buffer.concat(this.parts).toString('utf8');
      this.parts = [];
      this.bytes = 0;
      start = end + 1;
      yield line;
    }
    this.keep(chunk.subarray(start));
  }

  private keep(part: Buffer): void {
    this.bytes += part.length;
    if (this.bytes > this.bytesMax) throw new RangeError(`a line is longer than ${this.bytesMax} bytes`);
    this.parts.push(part);
  }
}

const newline = '\n'.charCodeAt(0);
