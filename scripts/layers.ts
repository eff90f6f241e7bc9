import type { IForbiddenRuleType } from 'dependency-cruiser';

/** The layers, lowest first. Each may import those before it; events and audit stand beside each other. */
export const layers: readonly string[] = [
  'base',
  'events',
  'audit',
  'unit',
  'capability',
  'memory',
  'kernel',
  'runtime',
  'command',
  'tools',
];

/** The folders of src/ that each folder may import besides itself. */
const mayImport: Record<string, readonly string[]> = {
  ...Object.fromEntries(layers.map((layer, index) => [layer, layers.slice(0, index)])),
  audit: ['base'],
  storage: ['base', 'events', 'audit', 'unit', 'capability', 'memory', 'kernel'],
};

const layerRules = Object.entries(mayImport).map(
  ([layer, others]): IForbiddenRuleType => ({
    name: `${layer}-imports`,
    comment: `${layer} may import ${['itself', ...others].join(', ')}`,
    severity: 'error',
    from: { path: `^src/${layer}/` },
    to: { path: '^src/', pathNot: [layer, ...others].map((name) => `^src/${name}/`) },
  }),
);

/** The public API; and what the command line needs without loading the kernel: the version, and how packages are installed. */
const publicFiles = ['^src/index\\.ts$', '^src/base/package/package-(version|manager)\\.ts$'];

export const forbidden: IForbiddenRuleType[] = [
  ...layerRules,
  {
    name: 'cli-imports',
    comment: 'the command line uses the public API, the integrations, and facts about packages',
    severity: 'error',
    from: { path: '^src/cli/' },
    to: { path: '^src/', pathNot: ['^src/cli/', ...publicFiles, '^src/integrations/[^/]+/index\\.ts$'] },
  },
  {
    name: 'integrations-imports',
    comment: 'an integration uses the public API, itself, what integrations share, and facts about packages',
    severity: 'error',
    from: { path: '^src/integrations/([^/]+)/' },
    to: {
      path: '^src/',
      pathNot: [
        '^src/integrations/$1/',
        '^src/integrations/[^/]+\\.ts$',
        '^src/integrations/shared/',
        '^src/base/package/missing-package\\.ts$',
        ...publicFiles,
      ],
    },
  },
  {
    name: 'testing-imports',
    comment: 'the helpers for tests use the public API and the integrations',
    severity: 'error',
    from: { path: '^src/testing/' },
    to: { path: '^src/', pathNot: ['^src/testing/', '^src/index\\.ts$', '^src/integrations/[^/]+/index\\.ts$'] },
  },
  {
    name: 'verifier-stands-alone',
    comment: 'the verifier shares no code with the kernel',
    severity: 'error',
    from: { path: '^src/verify\\.ts$' },
    to: { dependencyTypesNot: ['core'] },
  },
  {
    name: 'storage-is-hidden',
    comment: 'only the composition root knows the adapters',
    severity: 'error',
    from: { path: '^src/', pathNot: ['^src/storage/', '^src/(container|migrate-store)\\.ts$'] },
    to: { path: '^src/storage/' },
  },
  {
    name: 'drivers-in-storage',
    comment: 'drizzle-orm, better-sqlite3 and pg appear only under storage/',
    severity: 'error',
    from: { path: '^src/', pathNot: '^src/storage/' },
    to: { path: 'node_modules/(drizzle-orm|better-sqlite3|@types/better-sqlite3|pg)/' },
  },
  {
    name: 'no-cycles',
    comment: 'a cycle of imports has no order',
    severity: 'error',
    from: { path: '^src/' },
    to: { circular: true },
  },
];
