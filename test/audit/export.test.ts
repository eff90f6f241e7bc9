import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Ed25519Signer } from '../../src/audit/checkpoint/ed25519-signer.js';
import { verifyExport } from '../../src/verify.js';
import { type AuditFixture, closedLog, fill, openAudit } from '../support/audit/audit-fixture.js';
import { tempFolder } from '../support/kernel.js';

describe('an export', () => {
  it('begins with a manifest, then records in order, each checkpoint after the record it ends with', async () => {
    const audit = await openAudit({ path: await closedLog(5, 3) });
    const lines = (await exportOf(audit)).map((line) => JSON.parse(line));
    expect(lines.map(({ kind, seq, size }) => [kind, seq ?? size])).toEqual([
      ['manifest', 5],
      ['record', 1],
      ['record', 2],
      ['record', 3],
      ['checkpoint', 3],
      ['record', 4],
      ['record', 5],
      ['checkpoint', 5],
    ]);
    const { root, log } = lines[7];
    const keys = [{ id: lines[7].key, publicKey: audit.signer.publicKey() }];
    expect(lines[0]).toEqual({ kind: 'manifest', version: 1, log, size: 5, root, payloads: false, keys });
    expect(Object.keys(lines[1])).toEqual(['kind', 'seq', 'header', 'hash', 'body']);
  });

  it.each([{}, { payloads: true }])('with options %j is accepted by the standalone verifier', async (options) => {
    const audit = await openAudit({ path: await closedLog(700, 600) });
    await audit.log.erase(4, 'asked');
    const file = save(await exportOf(audit, options));
    const report = await verifyExport(file, [audit.signer.publicKey()]);
    expect(report).toEqual({
      ok: true,
      message: expect.stringMatching(/701 records, 2 checkpoints, root [0-9a-f]{64}\.$/),
    });
  });

  it('of an empty log, without line ends, with blank lines or of a copy with a new key is accepted', async () => {
    const empty = await openAudit();
    expect(await verifyExport(save(await exportOf(empty)))).toMatchObject({ ok: true });
    const audit = await openAudit({ path: await closedLog(10), signer: Ed25519Signer.fromSeed(Buffer.alloc(32, 1)) });
    await fill(audit, 1);
    const lines = await exportOf(audit);
    expect(await verifyExport(save(lines))).toMatchObject({ ok: true });
    expect(await verifyExport(save([lines.join('').trim()]))).toMatchObject({ ok: true });
    expect(await verifyExport(save([lines.join('\n')]))).toMatchObject({ ok: true });
  });

  it('tells how many records no checkpoint covers', async () => {
    const audit = await openAudit({ path: await closedLog(10, 6), readOnly: true });
    const { ok, message } = await verifyExport(save(await exportOf(audit)));
    expect([ok, message]).toEqual([true, expect.stringContaining('4 came after the last checkpoint')]);
  });

  it('is refused with another key than the one that is given', async () => {
    const audit = await openAudit({ path: await closedLog(10) });
    const file = save(await exportOf(audit));
    const stranger = Ed25519Signer.fromSeed(Buffer.alloc(32, 9)).publicKey();
    expect(await verifyExport(file, [stranger])).toMatchObject({ ok: false, kind: 'BAD_SIGNATURE' });
    expect(await verifyExport(file, ['rubbish'])).toMatchObject({ ok: false });
    expect(await verifyExport(file, [stranger, audit.signer.publicKey()])).toMatchObject({ ok: true });
  });

  it('is refused when a key is given and nothing is signed', async () => {
    const audit = await openAudit({ path: await closedLog(10, 0), readOnly: true });
    const key = Ed25519Signer.fromSeed(Buffer.alloc(32, 9)).publicKey();
    expect(await verifyExport(save(await exportOf(audit)))).toMatchObject({ ok: true });
    expect(await verifyExport(save(await exportOf(audit)), [key])).toMatchObject({
      ok: false,
      message: 'No checkpoint is signed with the given key.',
    });
  });
});

type Edit = (lines: string[]) => string[];
const inLine =
  (at: number, from: string | RegExp, to: string): Edit =>
  (lines) =>
    lines.with(at, (lines[at] ?? '').replace(from, to));

describe('records after the last checkpoint', () => {
  it('are a fault when a key is given, unless they are allowed, and the manifest tells of them', async () => {
    const audit = await openAudit({ path: await closedLog(10, 6), readOnly: true });
    const lines = await exportOf(audit);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ size: 10, unsigned: 4 });
    const [file, key] = [save(lines), keyOf(lines)];
    expect(await verifyExport(file)).toMatchObject({ ok: true });
    expect(await verifyExport(file, [key])).toMatchObject({ ok: false, kind: 'UNSIGNED', seq: 7 });
    expect(await verifyExport(file, [key], { allowUnsigned: true })).toMatchObject({ ok: true });
    expect(await run(file, '--key', key)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^BROKEN: UNSIGNED/),
    });
    expect(await run(file, '--allow-unsigned', '--key', key)).toMatchObject({ code: 0 });
  });

  it('are a fault when somebody appends them to a signed export', async () => {
    const signed = await exportOf(await openAudit({ path: await closedLog(10) }));
    const [manifest = '', ...rest] = await exportOf(await openAudit({ path: await closedLog(12, 10), readOnly: true }));
    const forged = [manifest.replace('"unsigned":2,', ''), ...rest];
    expect(JSON.parse(signed[0] ?? '')).not.toHaveProperty('unsigned');
    expect(await verifyExport(save(signed), [keyOf(signed)])).toMatchObject({ ok: true });
    expect(await verifyExport(save(forged), [keyOf(forged)])).toMatchObject({ ok: false, kind: 'UNSIGNED', seq: 11 });
  });

  it('are not in an export of a store that is open for writing, which is signed first', async () => {
    const audit = await openAudit({ path: await closedLog(10, 6) });
    const lines: string[] = [];
    for await (const line of audit.log.export()) {
      if (lines.length === 0) await fill(audit, 3);
      lines.push(line);
    }
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ size: 10 });
    expect(await verifyExport(save(lines), [audit.signer.publicKey()])).toMatchObject({ ok: true });
  });

  it('are not more than the manifest tells', async () => {
    const lines = await signedExport(10);
    const lying = lines.with(0, (lines[0] ?? '').replace('"size":10', '"unsigned":3,"size":10'));
    expect(await verifyExport(save(lying))).toMatchObject({ ok: false, kind: 'FORKED' });
  });
});

describe('what the verifier prints', () => {
  const hostile = '\u001b[2J\u009b31m\u202e\u2066\r\nOK: all is well\u0000\u200b\ud83d\udc4d';
  const quoted = JSON.stringify(hostile).slice(1, -1);
  it.each([
    ['the log', inLine(0, /"log":"/, `"log":"${quoted}`)],
    ['the version', inLine(0, '"version":1', `"version":"${quoted}"`)],
    ['the kind', inLine(3, '"kind":"record"', `"kind":"${quoted}"`)],
    ['a member', inLine(3, '"seq"', `"${quoted}":1,"seq"`)],
    ['a number', inLine(3, '\\"seq\\":3', `\\"seq\\":\\"${quoted.replaceAll('\\', '\\\\')}\\"`)],
  ])('has control characters escaped, whatever %s is', async (_, edit) => {
    const report = await verifyExport(save(edit(await signedExport(5))));
    expect(report.ok).toBe(false);
    expect(report.message).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });

  it('has them escaped in the name of the file and where all is well', async () => {
    const report = await run(join(tempFolder(), 'a\u001b[2J\u202e'));
    expect(report.stderr.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    const audit = await openAudit({ path: await closedLog(3, 3) });
    const fine = await verifyExport(save(await exportOf(audit)), [audit.signer.publicKey()]);
    expect(fine).toMatchObject({ ok: true, message: expect.stringMatching(/^log /) });
  });

  it('is bounded', async () => {
    const lines = await signedExport(3);
    const edited = lines.with(0, (lines[0] ?? '').replace('"version":1', `"version":"${'x'.repeat(100_000)}"`));
    expect((await verifyExport(save(edited))).message.length).toBeLessThan(2_000);
  });
});

const edits: [what: string, edit: Edit, expected: object][] = [
  ['an edited body', inLine(3, 'process.spawn', 'process.spawm'), { kind: 'EDITED', seq: 3 }],
  ['an edited header', inLine(3, 'prev', 'perv'), { kind: 'EDITED', seq: 3 }],
  ['an edited hash', inLine(3, /"hash":"./, '"hash":"x'), { kind: 'EDITED', seq: 3 }],
  ['an edited payload', inLine(4, 'tool:t3', 'tool:t4'), { kind: 'EDITED', seq: 4 }],
  ['a payload that is left out', inLine(4, /,"payload".*(?=}\n)/, ''), { kind: 'PAYLOAD_ERASED', seq: 4 }],
  ['a missing record', (lines) => lines.toSpliced(3, 1), { kind: 'MISSING', seq: 3 }],
  [
    'two swapped records',
    (lines) => lines.with(3, lines[5] ?? '').with(5, lines[3] ?? ''),
    { kind: 'REORDERED', seq: 3 },
  ],
  ['a repeated record', (lines) => lines.toSpliced(3, 0, lines[3] ?? ''), { kind: 'INSERTED', seq: 3 }],
  ['a record of another log', inLine(0, /"log":"../, '"log":"x_'), { kind: 'INSERTED', seq: 1 }],
  ['a cut end', (lines) => lines.slice(0, 6), { kind: 'TRUNCATED', seq: 6 }],
  ['a larger manifest', inLine(0, '"size":10', '"size":11'), { kind: 'TRUNCATED', seq: 11 }],
  ['a smaller manifest', inLine(0, '"size":10', '"size":9'), { kind: 'INSERTED', seq: 10 }],
  ['another root in the manifest', inLine(0, /"root":"[0-9a-f]{8}/, '"root":"00000000'), { kind: 'FORKED', seq: 10 }],
  ['a forged checkpoint', inLine(11, /"at":\d/, '"at":9'), { kind: 'BAD_SIGNATURE', seq: 10 }],
  ['a forged key', inLine(0, '"publicKey":"MC', '"publicKey":"MD'), { kind: 'BAD_SIGNATURE' }],
  [
    'a line of rubbish',
    (lines) => lines.toSpliced(3, 0, 'rubbish\n'),
    { message: expect.stringMatching(/^Line 4 is not/) },
  ],
  [
    'a line that is cut off',
    (lines) => lines.with(11, (lines[11] ?? '').slice(0, 40)),
    { message: expect.stringMatching(/^Line 12 is not/) },
  ],
  [
    'a line of another kind',
    inLine(3, '"record"', '"constructor"'),
    { message: expect.stringMatching(/^Line 4 is not/) },
  ],
  [
    'a line with a strange member',
    inLine(3, '"seq"', '"x":1,"seq"'),
    { message: expect.stringMatching(/^Line 4 has/) },
  ],
  ['a record without a body', inLine(3, '"body":"{', '"body":1,"header":"{'), { message: expect.any(String) }],
  ['no manifest', (lines) => lines.slice(1), { message: 'The export does not begin with a manifest.' }],
  ['two manifests', (lines) => lines.toSpliced(1, 0, lines[0] ?? ''), { message: 'Line 2 is a second manifest.' }],
  ['a newer format', inLine(0, '"version":1', '"version":2'), { message: expect.stringContaining('version 2') }],
  ['nothing at all', () => [], { message: 'The export is empty.' }],
];

describe('the standalone verifier', () => {
  it.each(edits)('says what is wrong with %s', async (_, edit, expected) => {
    const lines = await signedExport(10);
    const edited = edit(lines);
    expect(edited).not.toEqual(lines);
    expect(await verifyExport(save(edited))).toMatchObject({ ok: false, ...expected });
  });

  it('accepts no export with one flipped byte', async () => {
    const bytes = Buffer.from((await signedExport(10)).join('').trimEnd());
    const folder = tempFolder();
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.nat(7), async (place, bit) => {
        const flipped = Buffer.from(bytes);
        flipped.writeUInt8(flipped.readUInt8(place) ^ (1 << bit), place);
        writeFileSync(join(folder, 'export'), flipped);
        expect(await verifyExport(join(folder, 'export'))).toMatchObject({ ok: false });
      }),
      { numRuns: 300 },
    );
  });

  it('imports only modules of Node.js', () => {
    const source = readFileSync(script, 'utf8');
    const imports = [...source.matchAll(/from '([^']+)'|import\('([^']+)'\)/g)].map(([, name]) => name);
    expect(imports.length).toBeGreaterThan(0);
    expect(imports.filter((name) => !name?.startsWith('node:'))).toEqual([]);
  });

  it('ends with 0 for a good export, and with 1 and a sentence for anything else', async () => {
    const folder = tempFolder();
    const lines = await signedExport(10);
    const [good, bad] = [save(lines), save(lines.slice(0, 5))];
    expect(await run(good)).toEqual({ code: 0, stdout: expect.stringMatching(/^OK: .*\n$/), stderr: '' });
    expect(await run(bad)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^BROKEN: TRUNCATED at .*\n$/),
    });
    expect(await run(join(folder, 'absent'))).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^BROKEN: .*ENOENT.*\n$/),
    });
    expect(await run(folder)).toMatchObject({ code: 1, stderr: expect.stringMatching(/^BROKEN: .*EISDIR.*\n$/) });
    expect(await run(good, '--key')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^BROKEN: A public key.*\n$/),
    });
    expect(await run()).toMatchObject({ code: 1, stderr: expect.stringMatching(/^Usage: /) });
  });
});

function keyOf(lines: readonly string[]): string {
  return JSON.parse(lines[0] ?? '').keys[0].publicKey;
}

const script = fileURLToPath(new URL('../../src/verify.ts', import.meta.url));

async function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script, ...args]);
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
}

async function signedExport(count: number): Promise<string[]> {
  return exportOf(await openAudit({ path: await closedLog(count) }), { payloads: true });
}

async function exportOf(audit: AuditFixture, options: { payloads?: boolean } = {}): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of audit.log.export(options)) lines.push(line);
  return lines;
}

function save(lines: readonly string[]): string {
  const file = join(tempFolder(), 'export.jsonl');
  writeFileSync(file, lines.join(''));
  return file;
}
