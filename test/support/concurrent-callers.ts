/** Makes `count` calls from `callers` concurrent callers, and answers with their values and errors. */
export async function callConcurrently<T>(
  callers: number,
  count: number,
  call: (n: number) => Promise<T>,
): Promise<{ values: T[]; errors: unknown[] }> {
  const values: T[] = [];
  const errors: unknown[] = [];
  let next = 0;
  const caller = async () => {
    while (next < count) {
      const n = next++;
      try {
        values.push(await call(n));
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { values, errors };
}
