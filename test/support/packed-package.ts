import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { builtPackage } from './built-package.js';

/**
 * Packs the built package as npm publishes it, and unpacks the tarball into `node_modules` of a project. Answers with the
 * paths of the packed files.
 */
export async function installPacked(project: string): Promise<string[]> {
  const npm = ['pack', '--json', '--ignore-scripts', '--pack-destination', project];
  const packed = execFileSync('npm', npm, { cwd: await builtPackage(), encoding: 'utf8', stdio: 'pipe' });
  const [tarball] = JSON.parse(packed) as { filename: string; files: { path: string }[] }[];
  const installed = path.join(project, 'node_modules', 'procura');
  mkdirSync(installed, { recursive: true });
  const archive = path.join(project, tarball?.filename ?? '');
  execFileSync('tar', ['-xzf', archive, '-C', installed, '--strip-components=1']);
  rmSync(archive);
  return tarball?.files.map((file) => file.path) ?? [];
}
