import {
  descriptorPath,
  descriptorsOf,
  descriptorsOfSync,
  environmentTextOf,
  isWriteOnly,
  readTrimmed,
} from './proc-files.js';

/** The environment variable with the token of a command, which all programs that it starts inherit. */
export const tokenVariable = 'PROCURA_TOKEN';

/**
 * The things by which processes are recognized as those of a command, also when they have left its group, its session and
 * the tree of its processes. Each suffices.
 */
export interface CommandMarks {
  /** In the environment, and in the name of the tether: a file that every process of the command inherits open. */
  readonly token: string;
  /** Files and pipes that only the command has open for writing alone. Other readers, and who also reads, are not its processes. */
  readonly files: readonly string[];
}

/** The name of the file to be opened as the tether of a command. */
export function tetherName(token: string): string {
  return `${token}.tether`;
}

const tetherPath = /\/([0-9a-f]+)\.tether(?: \(deleted\))?$/;
/** The form of a token wherever it stands in an environment. */
const tokenText = /[0-9a-f]{32}/g;

/** The marks of several commands, to be looked for in one pass. */
export class WantedMarks {
  private readonly tokens = new Set<string>();
  private readonly tokenOfFile = new Map<string, string>();

  constructor(marks: readonly CommandMarks[] = []) {
    for (const each of marks) this.add(each);
  }

  get isEmpty(): boolean {
    return this.tokens.size === 0;
  }

  add({ token, files }: CommandMarks): void {
    this.tokens.add(token);
    for (const file of files) this.tokenOfFile.set(file, token);
  }

  /** The tokens of the commands that a process belongs to; undefined when its environment cannot be read and nothing was found. */
  async findIn(pid: number, pause: () => Promise<void> | undefined = noPause): Promise<string[] | undefined> {
    const found = new Set<string>();
    for (const descriptor of await descriptorsOf(pid)) {
      const token = this.tokenOfDescriptor(pid, descriptor);
      if (token !== undefined) found.add(token);
      await pause();
    }
    const environment = await environmentTextOf(pid);
    for (const token of this.tokensIn(environment ?? '')) found.add(token);
    return environment === undefined && found.size === 0 ? undefined : [...found];
  }

  /** Whether a process belongs to any of the commands, found out at once. */
  isIn(pid: number): boolean {
    const descriptors = descriptorsOfSync(pid);
    if (descriptors.some((descriptor) => this.tokenOfDescriptor(pid, descriptor) !== undefined)) return true;
    return this.tokensIn(readTrimmed(`/proc/${pid}/environ`) ?? '').length > 0;
  }

  private tokenOfDescriptor(pid: number, descriptor: number): string | undefined {
    const path = descriptorPath(pid, descriptor);
    if (path === undefined) return undefined;
    const [, tetherToken] = tetherPath.exec(path) ?? [];
    if (tetherToken !== undefined && this.tokens.has(tetherToken)) return tetherToken;
    const token = this.tokenOfFile.get(path);
    return token !== undefined && isWriteOnly(pid, descriptor) ? token : undefined;
  }

  private tokensIn(environment: string): string[] {
    return (environment.match(tokenText) ?? []).filter((token) => this.tokens.has(token));
  }
}

function noPause(): undefined {
  return undefined;
}
