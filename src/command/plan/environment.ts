import { tokenVariable } from '../../runtime/os/os-groups.js';
import type { ParsedCommand } from './command-planner.js';

type Variables = Readonly<Record<string, string | undefined>>;

/** The variables of the kernel that a clean environment has. */
const cleanNames = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TERM'] as const;

/**
 * The whole environment of a command; `inherited` are the variables that its process and the parent were spawned with.
 * The token is always in it: every process that the command starts is found by it.
 */
export function environmentOf(
  { env = {}, envMode = 'clean' }: Pick<ParsedCommand, 'env' | 'envMode'>,
  inherited: Variables,
  token: string,
): Record<string, string> {
  // A kernel that runs as a command passes its own token on, so that what it starts is found by both.
  const tokens = [process.env[tokenVariable], token].filter((value) => value !== undefined).join(':');
  const variables = {
    ...kernelVariables(envMode),
    ...(envMode === 'replace' ? {} : inherited),
    ...env,
    [tokenVariable]: tokens,
  };
  return Object.fromEntries(
    Object.entries(variables).filter((variable): variable is [string, string] => variable[1] !== undefined),
  );
}

function kernelVariables(mode: NonNullable<ParsedCommand['envMode']>): Variables {
  switch (mode) {
    case 'clean':
      return Object.fromEntries(cleanNames.map((name) => [name, process.env[name]]));
    case 'patch':
      return process.env;
    case 'replace':
      return {};
  }
}
