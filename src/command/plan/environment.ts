import type { EnvMode } from '../../kernel/command/command.js';
import { tokenVariable } from '../../runtime/os/os-groups.js';

type Variables = Readonly<Record<string, string | undefined>>;

const kept = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TERM'] as const;

/** What the environment of a command is made of. */
export interface EnvironmentParts {
  readonly mode: EnvMode;
  /** The kernel's own. */
  readonly kernel: Variables;
  /** What the processes above were spawned with. */
  readonly inherited: Variables;
  readonly given: Variables;
  readonly token: string;
}

/** The whole environment of a command. The token is always in it: by it everything is found that the command starts. */
export function environmentOf({ mode, kernel, inherited, given, token }: EnvironmentParts): Record<string, string> {
  // A kernel that is a command itself passes its own token on, so that what it starts can be found by both.
  const tokens = [kernel[tokenVariable], token].filter((each) => each !== undefined).join(':');
  const all = { ...base(mode, kernel), ...(mode === 'replace' ? {} : inherited), ...given, [tokenVariable]: tokens };
  return Object.fromEntries(
    Object.entries(all).filter((variable): variable is [string, string] => variable[1] !== undefined),
  );
}

function base(mode: EnvMode, kernel: Variables): Variables {
  switch (mode) {
    case 'clean':
      return Object.fromEntries(kept.map((name) => [name, kernel[name]]));
    case 'patch':
      return kernel;
    case 'replace':
      return {};
  }
}
