import type { JsonValue } from '../../base/json.js';
import type { AtomName, AtomTest } from './atoms.js';

interface AtomDescription {
  /** The values that it accepts, in words. */
  readonly meaning: string;
  readonly example: AtomTest;
  /** A value that the example accepts, and one that it refuses; `any` refuses none. */
  readonly accepted: JsonValue;
  readonly refused?: JsonValue;
}

/** What each atom accepts: the one list, from which docs/tables.md is generated. */
export const atomDescriptions: Readonly<Record<AtomName, AtomDescription>> = {
  any: { meaning: 'Every value.', example: { any: true }, accepted: 'all of it' },
  eq: { meaning: 'This value.', example: { eq: 'main' }, accepted: 'main', refused: 'dev' },
  in: { meaning: 'One of these values.', example: { in: ['GET', 'HEAD'] }, accepted: 'GET', refused: 'POST' },
  range: {
    meaning: 'A number from the first to the second.',
    example: { range: [1, 100] },
    accepted: 20,
    refused: 101,
  },
  length: {
    meaning: 'A text of so many bytes of UTF-8, or a list of so many items.',
    example: { length: [1, 3] },
    accepted: ['git', 'status'],
    refused: [],
  },
  path: {
    meaning: 'A path inside the workspace that fits the pattern, as in `fs:` resources.',
    example: { path: 'reports/**' },
    accepted: 'reports/2026/may.md',
    refused: 'src/index.ts',
  },
  host: {
    meaning: 'A host name or IP address; `*.` at the beginning stands for the names below it.',
    example: { host: '*.example.com' },
    accepted: 'api.example.com',
    refused: 'example.org',
  },
  cidr: {
    meaning: 'An IP address of this block.',
    example: { cidr: '192.0.2.0/24' },
    accepted: '192.0.2.7',
    refused: '198.51.100.7',
  },
  prefix: {
    meaning: 'A text that begins so.',
    example: { prefix: 'release/' },
    accepted: 'release/7',
    refused: 'main',
  },
  subset: {
    meaning: 'A list whose items are all among these.',
    example: { subset: ['bug', 'docs'] },
    accepted: ['docs'],
    refused: ['docs', 'urgent'],
  },
  hash: {
    meaning: 'The value whose canonical JSON has this SHA-256.',
    example: { hash: '965a4cfdfdc0c600adf046e68e982a226b99200a95cdffc746646ad6e42d488d' },
    accepted: 'v1.2.3',
    refused: 'v1.2.4',
  },
  all: {
    meaning: 'What all of these atoms accept.',
    example: { all: [{ prefix: 'reports/' }, { length: [1, 64] }] },
    accepted: 'reports/may.md',
    refused: 'src/a.md',
  },
};
