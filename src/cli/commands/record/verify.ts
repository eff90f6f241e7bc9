import { execFile } from 'node:child_process';
import { closeSync, createWriteStream, existsSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import type { Kernel, VerifyReport } from '../../../index.js';
import { CliError } from '../../cli-error.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { paint, writeJson, writeLine } from '../../output.js';
import { safeText } from '../../safe-text.js';

interface VerifyOptions extends CommonOptions {
  readonly key?: string;
  readonly allowUnsigned?: boolean;
}

const databaseStart = 'SQLite format 3';

/** Verifies the log in the database, or an export with the verifier that shares no code with the kernel. */
export async function verify(file: string | undefined, options: VerifyOptions): Promise<void> {
  if (file !== undefined) return verifyFile(file, options);
  await withReadOnlyStore(options, async (kernel) => {
    const report = await kernel.audit.verify();
    if (report.ok && options.key !== undefined) return verifyWithKey(kernel, options);
    if (!report.ok) process.exitCode = 1;
    return options.json === true ? writeJson(report) : writeLine(formatReport(report));
  });
}

async function verifyFile(file: string, options: VerifyOptions): Promise<void> {
  if (!existsSync(file)) throw noFile(file);
  if (isDatabase(file)) throw notAnExport(file);
  const { ok, message } = await runVerifier(file, options);
  if (!ok) process.exitCode = 1;
  if (options.json === true) return writeJson({ ok, message });
  await writeLine(`${ok ? paint.green('OK') : paint.red('BROKEN')} ${safeText(message, 500)}`);
}

/** Only the standalone verifier checks keys, so the log is exported to a temporary file for it. */
async function verifyWithKey(kernel: Kernel, options: VerifyOptions): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'procura-verify-'));
  try {
    const file = path.join(folder, 'export.jsonl');
    await pipeline(kernel.audit.export({ payloads: true }), createWriteStream(file));
    await verifyFile(file, options);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs verify.js as a program of its own. */
function runVerifier(file: string, { key, allowUnsigned }: VerifyOptions): Promise<{ ok: boolean; message: string }> {
  const script = verifierPath();
  const keyArgs = key === undefined ? [] : ['--key', key];
  const unsignedArgs = allowUnsigned === true ? ['--allow-unsigned'] : [];
  const args = [...process.execArgv, script, path.resolve(file), ...keyArgs, ...unsignedArgs];
  return new Promise((resolve) => {
    execFile(process.execPath, args, (error, stdout, stderr) => {
      const ok = error === null;
      const message = (ok ? stdout : stderr).trim().replace(/^(OK|BROKEN): /, '');
      resolve({ ok, message });
    });
  });
}

/** In the package all files of the command are in one folder; among the sources this one is deeper. */
function verifierPath(): string {
  const [built, source] = ['../verify.js', '../../../verify.ts'].map((name) =>
    fileURLToPath(new URL(name, import.meta.url)),
  );
  return built !== undefined && existsSync(built) ? built : (source ?? '');
}

function formatReport({ ok, checked, size, root, erased, firstBad }: VerifyReport): string {
  if (firstBad !== undefined) {
    const { seq, kind, detail } = firstBad;
    return `${paint.red('BROKEN')} ${kind} at record ${seq}: ${safeText(detail, 500)}`;
  }
  const erasedNote = erased.length === 0 ? '' : `, ${erased.length} payloads lawfully erased`;
  return `${ok ? paint.green('OK') : paint.red('BROKEN')} ${checked} of ${size} records checked, root ${root}${erasedNote}`;
}

function isDatabase(file: string): boolean {
  const start = Buffer.alloc(databaseStart.length);
  const opened = openSync(file, 'r');
  try {
    readSync(opened, start, 0, start.length, 0);
  } catch {
    // The verifier reports a file that cannot be read.
    return false;
  } finally {
    closeSync(opened);
  }
  return start.toString('latin1') === databaseStart;
}

function notAnExport(file: string): CliError {
  return new CliError(
    'NOT_AN_EXPORT',
    `${JSON.stringify(file)} is a database, not an export.`,
    `To check a database: procura verify --store ${file}`,
  );
}

function noFile(file: string): CliError {
  return new CliError(
    'NO_SUCH_FILE',
    `There is no file ${JSON.stringify(file)}.`,
    'Make one: procura export --out FILE',
  );
}
