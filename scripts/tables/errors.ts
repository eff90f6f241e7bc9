import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type ErrorGroup, errorCodes } from '../../src/base/error/error-codes.js';
import { code, table } from './markdown.js';

/** The tables of docs/errors.md, one for each part of the page. */
export function errorPageTables(): Record<string, () => string> {
  const groups = new Set<ErrorGroup>(Object.values(errorCodes).map(({ group }) => group));
  return Object.fromEntries([...groups].map((group) => [`${group} errors`, () => groupTable(group)]));
}

function groupTable(wanted: ErrorGroup): string {
  const rows = Object.entries(errorCodes)
    .filter(([, { group }]) => group === wanted)
    .map(([name, { meaning, remedy }]) => [name, meaning, remedy]);
  return table(['code', 'meaning', 'what to do'], rows);
}

/** All codes, with the class that has each. */
export function errorTable(): string {
  const classes = errorClasses();
  const rows = Object.entries(errorCodes).map(([name, { meaning, remedy }]) => {
    const known = classes.get(name);
    if (known === undefined) throw new Error(`No source makes an error ${name}.`);
    return [code(name), shownClasses(known), fromTables(meaning), fromTables(remedy)];
  });
  return table(['code', 'class', 'meaning', 'what to do'], rows);
}

/** The public classes. `CliError` is that of the command line and not exported. */
function shownClasses(known: ReadonlySet<string>): string {
  const exported = [...known].filter((name) => name !== 'CliError').sort();
  return exported.length === 0 ? 'of the command line' : exported.map(code).join(', ');
}

/** A cell of docs/errors.md with links that work in docs/tables.md. */
function fromTables(cell: string): string {
  return cell.replaceAll('](#', '](errors.md#').replaceAll('\\|', '|');
}

/** The classes of the errors that the sources make, by code. */
function errorClasses(): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  const all = sources();
  const bases = new Map(
    all.flatMap((text) =>
      [...text.matchAll(/class (\w+) extends (\w+)/g)].map(([, name = '', base = '']) => [name, base]),
    ),
  );
  for (const text of all) {
    for (const [, name = '', errorCode = ''] of text.matchAll(/new (\w+Error)\(\s*'([A-Z_]+)'/g)) add(errorCode, name);
    for (const [, errorCode = ''] of text.matchAll(/'SQLITE_[A-Z]+',\s*'([A-Z_]+)'/g)) add(errorCode, 'StoreError');
    for (const declared of text.split(/(?=\bclass \w+ extends )/)) {
      const [, name = '', errorCode] = /^class (\w+) [\s\S]*?super\(\s*'([A-Z_]+)'/.exec(declared) ?? [];
      if (errorCode !== undefined) add(errorCode, name);
    }
  }
  return found;

  function add(errorCode: string, name: string): void {
    found.set(errorCode, (found.get(errorCode) ?? new Set()).add(familyOf(name)));
  }

  /** The class below KernelError that a class belongs to. */
  function familyOf(name: string): string {
    const base = bases.get(name);
    if (base === undefined || base === 'Error') return name;
    return base === 'KernelError' && name.endsWith('Error') ? name : familyOf(base);
  }
}

function sources(): string[] {
  const folder = fileURLToPath(new URL('../../src/', import.meta.url));
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(`${folder}${name}`, 'utf8'));
}
