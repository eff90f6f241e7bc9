import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

it('leaves the exit code of the program that starts a server as it is, so that a run with failed tests fails', () => {
  const program = `
    delete process.env.PROCURA_TEST_POSTGRES;
    const { providePostgres } = await import(${JSON.stringify(new URL('../support/postgres-server.ts', import.meta.url))});
    const server = await providePostgres();
    await server.stop();
    process.exitCode = 3;`;
  const { status, stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(3);
});
