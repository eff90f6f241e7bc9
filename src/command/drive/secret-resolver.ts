import { setTimeout as sleep } from 'node:timers/promises';
import { inject, injectable } from 'inversify';
import type { Environment } from '../../kernel/command/command.js';
import { SecretSource } from '../../kernel/command/command-ports.js';
import { secretNamesOf } from '../../kernel/command/secret-access.js';
import { variableCharsMax } from '../../kernel/specs.js';

/** Why a secret is not there. Never has its value, nor what the function that looks it up has thrown. */
interface SecretFailure {
  readonly errno: 'NO_SECRET';
  readonly secret: string;
  readonly message: string;
}

export type ResolvedEnvironment =
  | { readonly variables: Readonly<Record<string, string>> }
  | { readonly failure: SecretFailure };

const lookUpMsMax = 30_000;

/** Looks secrets up when a program is started. Their values go into its environment and nowhere else. */
@injectable()
export class SecretResolver {
  constructor(@inject(SecretSource) private readonly source: SecretSource) {}

  /** Replaces every reference by the value of the secret. */
  async resolve(env: Environment): Promise<ResolvedEnvironment> {
    const values = new Map<string, string>();
    for (const secret of secretNamesOf(env)) {
      const found = await this.find(secret);
      if ('problem' in found) return { failure: failureOf(secret, found.problem) };
      values.set(secret, found.value);
    }
    const variables = Object.entries(env).map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : (values.get(value.secret) ?? ''),
    ]);
    return { variables: Object.fromEntries(variables) };
  }

  private async find(name: string): Promise<{ readonly value: string } | { readonly problem: string }> {
    const { lookUp } = this.source;
    if (lookUp === undefined) return { problem: 'this kernel was opened without the option secrets' };
    const ended = new AbortController();
    try {
      const late = sleep(lookUpMsMax, lateMark, { signal: ended.signal });
      late.catch(() => undefined);
      const value: unknown = await Promise.race([lookUp(name), late]);
      if (value === lateMark) return { problem: 'looking it up took too long' };
      if (value === undefined) return { problem: 'there is no such secret' };
      return isVariableValue(value) ? { value } : { problem: 'it is not a text that a variable can hold' };
    } catch {
      // The error of a lookup may contain the value.
      return { problem: 'looking it up failed' };
    } finally {
      ended.abort();
    }
  }
}

const lateMark = Symbol('late');

function isVariableValue(value: unknown): value is string {
  return typeof value === 'string' && value.length <= variableCharsMax && !value.includes('\0');
}

function failureOf(secret: string, problem: string): SecretFailure {
  return { errno: 'NO_SECRET', secret, message: `The secret ${secret} cannot be given to it: ${problem}.` };
}
