import type { Environment, EnvMode } from '../../kernel/command/command.js';
import { tokenVariable } from '../../runtime/os/command-marks.js';

type KernelVariables = Readonly<Record<string, string | undefined>>;

/** The variables of a command, but for the token that the kernel adds when it is started. */
export interface CommandEnvironment {
  readonly variables: Environment;
  /**
   * The variables that a decision is made on: those that the clean base does not have, or has with another value. Where the base
   * is replaced, all. Undefined when there is none.
   */
  readonly beyondBase: Environment | undefined;
}

/** The variables of the kernel that a clean environment has. */
const cleanNames = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TERM'] as const;

/** `inherited` are the variables that its process, and the parent of an image's process, were spawned with. */
export function commandEnvironment(
  { env = {}, envMode = 'clean' }: { readonly env?: Environment | undefined; readonly envMode?: EnvMode | undefined },
  inherited: Environment,
): CommandEnvironment {
  const base = definedVariables(envMode === 'replace' ? {} : cleanBase());
  const { [tokenVariable]: _token, ...variables }: Environment = {
    ...(envMode === 'patch' ? kernelVariables() : base),
    ...(envMode === 'replace' ? {} : inherited),
    ...env,
  };
  const beyond = Object.entries(variables).filter(
    ([name, value]) => !Object.hasOwn(base, name) || base[name] !== value,
  );
  return { variables, beyondBase: beyond.length === 0 ? undefined : Object.fromEntries(beyond) };
}

/** All variables of the kernel. */
export function kernelVariables(): Readonly<Record<string, string>> {
  return definedVariables(process.env);
}

function cleanBase(): KernelVariables {
  return Object.fromEntries(cleanNames.map((name) => [name, process.env[name]]));
}

function definedVariables(variables: KernelVariables): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(variables).filter((variable): variable is [string, string] => variable[1] !== undefined),
  );
}

/** Adds the token, by which every process that the command starts is found. */
export function withToken(variables: Readonly<Record<string, string>>, token: string): Record<string, string> {
  // A kernel that runs as a command passes its own token on, so that what it starts is found by both.
  const tokens = [process.env[tokenVariable], token].filter((value) => value !== undefined).join(':');
  return { ...variables, [tokenVariable]: tokens };
}
