import type { Store, WriteTx } from '../../../src/index.js';

/** Counts the writes of the store from here on, and dies at one of them: in the unit, or when it has committed. */
export function killAtWrite(store: Store, at: number, when: string): void {
  const write = store.write.bind(store);
  let writes = 0;
  store.write = async <T>(unit: (tx: WriteTx) => Promise<T>): Promise<T> => {
    const isIt = ++writes === at;
    const answer = await write(async (tx) => {
      const value = await unit(tx);
      if (isIt && when === 'before') killItself();
      return value;
    });
    if (isIt) killItself();
    return answer;
  };
}

function killItself(): never {
  process.kill(process.pid, 'SIGKILL');
  for (;;);
}
