/**
 * The pages of the documentation that hints of errors name, with an anchor where one is meant. The pages are in the package:
 * `docs/…` is also `node_modules/procura/docs/…`. A test follows every one.
 */
export const docPages = {
  /** The index of the API reference. */
  reference: 'docs/api/README.md',
  options: 'docs/guide.md#open-a-kernel',
  processes: 'docs/api/processes.md',
  memory: 'docs/api/memory.md',
  stepOptions: 'docs/api/bodies.md#stepoptions',
  rights: 'docs/tables.md#resource-kinds-and-rights',
  atoms: 'docs/tables.md#constraint-atoms',
  eventTypes: 'docs/tables.md#event-types',
} as const;
