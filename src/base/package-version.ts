import { readFileSync } from 'node:fs';

/** The version of this package, such as `1.2.3`. */
export function packageVersion(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
