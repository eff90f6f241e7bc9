import { type Kernel, Store, type WriteTx } from '../../../src/index.js';

/**
 * Counts the writes of the store from here on, and kills the program at one of them: in the unit (`before`), or after its
 * commit and before anybody has heard of it. Without a number nothing happens.
 */
export function mine(kernel: Kernel, killAt: string, when: string): void {
  if (killAt === '') return;
  const store = kernel.container.get(Store);
  const write = store.write.bind(store);
  let writes = 0;
  store.write = async <T>(unit: (tx: WriteTx) => Promise<T>): Promise<T> => {
    const isIt = ++writes === Number(killAt);
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
