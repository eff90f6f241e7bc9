import { KernelError } from '../errors.js';
import { installCommand } from './package-manager.js';

/**
 * For the `catch` of the import of an optional package: throws MISSING_PACKAGE. A bundler accepts an import that it cannot
 * resolve where its rejection is handled on the spot.
 *
 * @example const sdk = await import('ai').catch(missingPackage('ai', '6'));
 */
export function missingPackage(name: string, version: string): (error: unknown) => never {
  return (error) => {
    const problem = isNotFound(error, name) ? 'is not installed' : 'could not be loaded';
    const command = installCommand(`${name}@${version}`);
    throw new KernelError(
      'MISSING_PACKAGE',
      `The package ${name} ${problem}; it is an optional dependency of procura.`,
      {
        facts: { package: name, command },
        hint: `Run: ${command}`,
        cause: error,
      },
    );
  };
}

function isNotFound(error: unknown, name: string): boolean {
  if (!(error instanceof Error && 'code' in error)) return false;
  return /MODULE_NOT_FOUND$/.test(String(error.code)) && error.message.includes(`'${name}`);
}
