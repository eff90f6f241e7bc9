import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const managers = ['npm', 'pnpm', 'yarn', 'yarn-classic', 'bun'] as const;
type PackageManager = (typeof managers)[number];

const lockFiles: readonly [name: string, manager: PackageManager][] = [
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
];

/** The command that adds packages to the project, in the words of its package manager. */
export function installCommand(packages: string): string {
  const verb = { npm: 'npm install', pnpm: 'pnpm add', yarn: 'yarn add', 'yarn-classic': 'yarn add', bun: 'bun add' };
  return `${verb[packageManager()]} ${packages}`;
}

/** The command that builds the native part of an installed package, which the package manager may have left out. */
export function buildCommand(name: string): string {
  const commands = {
    npm: `npm rebuild ${name}`,
    pnpm: `pnpm approve-builds && pnpm rebuild ${name}`,
    yarn: `yarn rebuild ${name}`,
    'yarn-classic': 'yarn install --force',
    bun: `bun pm trust ${name}`,
  };
  return commands[packageManager()];
}

/** The command that builds the native part of an installed package again, for the Node that runs now. */
export function rebuildCommand(name: string): string {
  const manager = packageManager();
  if (manager === 'pnpm') return `pnpm rebuild ${name}`;
  return manager === 'bun' ? 'bun install --force' : buildCommand(name);
}

/** The one that runs this program, or else the one of the project that the working directory is in. */
function packageManager(): PackageManager {
  const running = managerNamed(process.env.npm_config_user_agent);
  if (running !== undefined) return running;
  let folder = process.cwd();
  for (;;) {
    const found = managerOf(folder);
    if (found !== undefined) return found;
    const above = path.dirname(folder);
    if (above === folder) return 'npm';
    folder = above;
  }
}

function managerOf(folder: string): PackageManager | undefined {
  const stated = managerNamed(statedManager(path.join(folder, 'package.json')));
  if (stated !== undefined) return stated;
  const lock = lockFiles.find(([name]) => existsSync(path.join(folder, name)));
  if (lock?.[1] !== 'yarn') return lock?.[1];
  return textOf(path.join(folder, lock[0])).includes('# yarn lockfile v1') ? 'yarn-classic' : 'yarn';
}

/** The field `packageManager`, such as `pnpm@10.2.0`. */
function statedManager(file: string): string | undefined {
  try {
    const { packageManager: stated } = JSON.parse(textOf(file)) as { packageManager?: unknown };
    return typeof stated === 'string' ? stated : undefined;
  } catch {
    // There is no such file, or it is not JSON: a lock file may tell.
    return undefined;
  }
}

/** The manager of a text such as `pnpm/10.2.0 npm/? node/v22.1.0` or `yarn@1.22.22`. */
function managerNamed(text: string | undefined): PackageManager | undefined {
  const [, name, major] = /^(npm|pnpm|yarn|bun)[/@](\d+)/.exec(text ?? '') ?? [];
  const isClassic = name === 'yarn' && major === '1';
  return managers.find((manager) => manager === (isClassic ? 'yarn-classic' : name));
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
