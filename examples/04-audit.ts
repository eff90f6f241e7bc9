/* The audit log can be checked by somebody who does not trust this program: export it, then verify the file. */
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

// A signed statement of the size and the root of the log, and a proof that one record is in it.
const checkpoint = await kernel.audit.checkpoint();
const [record] = (await kernel.audit.list({ action: 'process.kill' })).items;
if (record === undefined) throw new Error('The kill is not on record.');
const proof = await kernel.audit.prove(record.seq);
console.log(`Record ${proof.seq} of ${proof.size} is in the signed log: ${verifyInclusion(proof, checkpoint)}`);

// Text that people wrote can be erased. Every hash and every proof stays valid.
await kernel.audit.erase(record.seq, 'requested by the person it was about');
const { ok, erased } = await kernel.audit.verify();
console.log(`After the erasure the log verifies: ${ok}; erased: ${erased.join(', ')}`);

const file = join(folder, 'export.jsonl');
for await (const line of kernel.audit.export({ payloads: true })) appendFileSync(file, line);
await kernel.shutdown();
const verifier = fileURLToPath(new URL('verify.js', import.meta.resolve('procura')));
console.log(execFileSync(process.execPath, [verifier, file], { encoding: 'utf8' }).trimEnd());
rmSync(folder, { recursive: true });
