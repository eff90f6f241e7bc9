import type { Pid, Store, WriteTx } from '../../../src/index.js';

/** Kills the program at the write with this number, counted from now: `before` or after its commit. */
export function killAtWrite(store: Store, writeNumber: number, when: string): void {
  const write = store.write.bind(store);
  let writes = 0;
  store.write = async <T>(unit: (tx: WriteTx) => Promise<T>, about?: readonly Pid[]): Promise<T> => {
    const isFatal = ++writes === writeNumber;
    const answer = await write(async (tx) => {
      const value = await unit(tx);
      if (isFatal && when === 'before') killSelf();
      return value;
    }, about);
    if (isFatal) killSelf();
    return answer;
  };
}

function killSelf(): never {
  process.kill(process.pid, 'SIGKILL');
  for (;;);
}
