import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { guardFolder, providePostgres } from './postgres-server.js';
import { dropDatabases, makeTemplate } from './postgres-template.js';

/** Runs once for the project `postgres`, before its first file: the server of the run, with the template of its databases. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const server = await providePostgres();
  const state = await mkdtemp(join(tmpdir(), 'procura-state-'));
  const guard = guardFolder(state);
  const prefix = `procura_test_${process.pid}_${Date.now().toString(36)}`;
  const tearDown = async () => {
    await dropDatabases(server.url, prefix);
    await server.stop();
    await rm(state, { recursive: true, force: true });
    guard.release();
  };
  try {
    await makeTemplate(server.url, prefix);
  } catch (error) {
    await tearDown();
    throw error;
  }
  project.provide('postgres', { url: server.url, prefix, state });
  return tearDown;
}
