import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** Prints a line without a buffer, so that it is not lost when the program is killed. */
export function print(line: string): void {
  writeSync(1, `${line}\n`);
}

const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** The next line that the parent sends; empty when it has closed the pipe. */
export async function nextLine(): Promise<string> {
  const { value } = await input.next();
  return value ?? '';
}

/** Stops listening, so that the program can end. */
export function stopListening(): void {
  process.stdin.destroy();
}
