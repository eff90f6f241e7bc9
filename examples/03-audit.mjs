/* The record can be checked by someone who does not trust us: export it, and verify the file with a program of its own. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createKernel, verifyInclusion } from 'procura';

const folder = mkdtempSync(join(tmpdir(), 'procura-example-'));
const kernel = await createKernel({ store: join(folder, 'audit.db') });
const pid = await kernel.processes.spawn({ name: 'clerk' });
await kernel.processes.kill(pid, 'a private reason');

// A signed statement of the log's size and root, and a proof that one record stands in it.
const checkpoint = await kernel.audit.checkpoint();
const { items } = await kernel.audit.list({ action: 'process.kill' });
const proof = await kernel.audit.prove(items[0].seq);
console.log(`Record ${proof.seq} of ${proof.size} is in the signed log: ${verifyInclusion(proof, checkpoint)}`);

// Text that people wrote can be erased; every hash and every proof stays.
await kernel.audit.erase(items[0].seq, 'asked for by the person it was about');
const { ok, erased } = await kernel.audit.verify();
console.log(`After the erasure the log verifies: ${ok}; erased: ${erased.join(', ')}`);

const file = join(folder, 'export.jsonl');
for await (const line of kernel.audit.export({ payloads: true })) appendFileSync(file, line);
await kernel.shutdown();
const verifier = fileURLToPath(new URL('verify.js', import.meta.resolve('procura')));
console.log(execFileSync(process.execPath, [verifier, file], { encoding: 'utf8' }).trimEnd());
rmSync(folder, { recursive: true });
