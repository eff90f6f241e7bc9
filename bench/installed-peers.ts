import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = new URL('peers/', import.meta.url);

/** Installs what Procura is compared with, where that was not done yet. */
export function installPeers(): void {
  // npm writes it when the installation is complete.
  if (existsSync(new URL('node_modules/.package-lock.json', folder))) return;
  const { status } = spawnSync('npm', ['ci', '--prefix', fileURLToPath(folder)], { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('The peers could not be installed: npm ci --prefix bench/peers failed.');
}

/** The versions of packages of bench/peers, by name. */
export function peerVersions(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, versionIn(folder, name)]));
}

/** The version of a package that this package depends on. */
export function dependencyVersion(name: string): Record<string, string> {
  return { [name]: versionIn(new URL('../', import.meta.url), name) };
}

function versionIn(from: URL, name: string): string {
  const file = new URL(`node_modules/${name}/package.json`, from);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
