import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { builtPackage } from './built-package.js';

/** Runs one of the examples in a folder of its own inside the built package, and answers with what it printed. */
export async function runExample(name: string): Promise<string> {
  return runIn(await programFolder(), path.join(await builtPackage(), 'examples', name));
}

/** Runs a program given as text; it may import the package by its name. */
export async function runText(source: string): Promise<string> {
  const folder = await programFolder();
  const file = path.join(folder, 'program.mjs');
  writeFileSync(file, source);
  return runIn(folder, file);
}

/** The code blocks of a page that are marked `js`, in order. */
export function codeBlocks(page: string): string[] {
  return [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code = '']) => code);
}

async function programFolder(): Promise<string> {
  const folder = mkdtempSync(path.join(await builtPackage(), 'run-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function runIn(cwd: string, file: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [file], { cwd, timeout: 110_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${file} failed:\n${stdout}\n${stderr}`));
    });
  });
}
