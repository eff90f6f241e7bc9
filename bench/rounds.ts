import type { SideRates } from './peer-results.js';
import type { RoundRequest, SideProgram } from './side-program.js';
import { median } from './support.js';

/** Rounds of all programs in turn; the first one warms up and does not count. */
export async function measureInTurns(
  programs: ReadonlyMap<string, SideProgram>,
  rounds: number,
  request: RoundRequest,
): Promise<Record<string, SideRates>> {
  const measured: Record<string, { perSecond: number[]; cpuUs: number[] }> = {};
  for (let round = 0; round <= rounds; round++) {
    let latest = 0;
    for (const [name, program] of programs) {
      const { operations, elapsedMs, cpuUs } = await program.run({ ...request, operations: latest });
      latest = operations;
      if (round === 0) continue;
      measured[name] ??= { perSecond: [], cpuUs: [] };
      measured[name].perSecond.push((operations / elapsedMs) * 1_000);
      measured[name].cpuUs.push(cpuUs / operations);
    }
  }
  return Object.fromEntries(
    Object.entries(measured).map(([name, { perSecond, cpuUs }]) => [
      name,
      { perSecond: perSecond.map(Math.round), cpuUs: Math.round(median(cpuUs)) },
    ]),
  );
}
