/** The longest turn of the event loop while `work` ran, in milliseconds of CPU time. */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isOver = false;
  let [cpu, wall] = [process.cpuUsage(), performance.now()];
  const measure = () => {
    const { user, system } = process.cpuUsage(cpu);
    // Threads of the runtime count for CPU time too: a turn has not used more than it has lasted.
    longest = Math.max(longest, Math.min((user + system) / 1_000, performance.now() - wall));
    [cpu, wall] = [process.cpuUsage(), performance.now()];
    if (!isOver) setImmediate(measure);
  };
  setImmediate(measure);
  await work();
  isOver = true;
  measure();
  return longest;
}
