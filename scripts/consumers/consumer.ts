import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const repository = fileURLToPath(new URL('../..', import.meta.url));
/** Compilers, package managers and libraries that only consumers use. */
const toolFolder = path.join(repository, 'test', 'consumers');

/** A project of somebody who uses the package. */
export class Consumer {
  constructor(readonly folder: string) {
    mkdirSync(folder, { recursive: true });
  }

  write(name: string, content: string | object): void {
    writeFileSync(path.join(this.folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  }

  /** The same project, with its packages, in another folder. */
  copy(folder: string): Consumer {
    cpSync(this.folder, folder, { recursive: true, verbatimSymlinks: true });
    return new Consumer(folder);
  }

  /** Installs without the scripts of packages, so that better-sqlite3 has no binary. */
  async installWithNpm(manifest: object): Promise<void> {
    this.write('package.json', manifest);
    await this.run('npm', 'install', '--ignore-scripts', '--install-links', '--prefer-offline');
  }

  /** Adds the binary of better-sqlite3 that the repository has: compiling it takes a minute. */
  addBinary(): void {
    const build = path.join('node_modules', 'better-sqlite3', 'build');
    cpSync(path.join(repository, build), path.join(this.folder, build), { recursive: true });
  }

  async installWithPnpm(manifest: object): Promise<void> {
    this.write('package.json', manifest);
    const pnpm = path.join(toolFolder, 'node_modules', 'pnpm', 'bin', 'pnpm.cjs');
    // A store of its own: the user's one may hold a package that was built before.
    await this.node(pnpm, 'install', '--store-dir', path.join(this.folder, 'store'));
  }

  /** Compiles a file with strict settings; the declarations of the packages that it uses are checked too. */
  async compile(compiler: string, file: string, compilerOptions: object): Promise<void> {
    const options = { strict: true, target: 'ES2022', noEmit: true, skipLibCheck: false, ...compilerOptions };
    const config = `tsconfig-${++this.compilations}.json`;
    this.write(config, { compilerOptions: options, files: [file] });
    await this.node(path.join(toolFolder, 'node_modules', compiler, 'bin', 'tsc'), '-p', config);
  }
  private compilations = 0;

  /** What a program of Node prints. Throws where it fails. */
  node(...args: string[]): Promise<string> {
    return this.run(process.execPath, ...args);
  }

  run(command: string, ...args: string[]): Promise<string> {
    const options = { cwd: this.folder, env: environment(), maxBuffer: 64 * 1024 * 1024, timeout: 600_000 };
    return new Promise((resolve, reject) => {
      execFile(command, args, options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${[path.basename(command), ...args].join(' ')} failed:\n${stdout}${stderr}`));
      });
    });
  }
}

/** Installs what is in test/consumers, unless that was done before. */
export async function installTools(): Promise<void> {
  if (existsSync(path.join(toolFolder, 'node_modules'))) return;
  await new Consumer(toolFolder).run('npm', 'ci', '--ignore-scripts');
}

/** A dependency on a package of the repository, or of test/consumers. */
export function localPackage(name: string, folder: 'repository' | 'consumers'): string {
  return `file:${path.join(folder === 'repository' ? repository : toolFolder, 'node_modules', name)}`;
}

/**
 * The environment without what npm sets for the scripts that it runs. Programs would take it for the package manager of the
 * project.
 */
function environment(): NodeJS.ProcessEnv {
  const ofScripts = /^npm_(?!config_)|^npm_config_(user_agent|local_prefix|global_prefix|prefix)$|^INIT_CWD$/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofScripts.test(name)));
}
