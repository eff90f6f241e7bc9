/** Tables that are read in the order of their row numbers, which SQLite has for every row. PostgreSQL has a column for them. */
export const tablesByRowNumber: ReadonlySet<string> = new Set([
  'capabilities',
  'registrations',
  'approvals',
  'overlays',
  'links',
  'rules',
]);
