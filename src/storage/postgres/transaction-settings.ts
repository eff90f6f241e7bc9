/**
 * Settings of one transaction, so that nothing of the connection depends on earlier ones and poolers may hand it to others.
 * Plans are made while tables are small and kept: without these, they would scan the tables when these have grown.
 */
export function transactionSettings(schema: string, kind: 'read' | 'write', durability: 'full' | 'normal'): string {
  const settings: readonly (readonly [name: string, value: string])[] = [
    ['search_path', schema],
    ['statement_timeout', '30000'],
    ['idle_in_transaction_session_timeout', kind === 'write' ? '2000' : '30000'],
    ['enable_seqscan', 'off'],
    ['enable_hashjoin', 'off'],
    ['enable_mergejoin', 'off'],
    ['jit', 'off'],
    ...(kind === 'write' ? ([['lock_timeout', '5000']] as const) : []),
    ...(kind === 'write' && durability === 'normal' ? ([['synchronous_commit', 'off']] as const) : []),
  ];
  return `SELECT ${settings.map(([name, value]) => `set_config('${name}', '${value}', true)`).join(', ')}`;
}

/**
 * For the transaction of a move, which takes as long as there are rows. It has a name of its own: it is no node that stands still
 * while it holds the lock.
 */
export const transferSettings = `SELECT ${[
  ['statement_timeout', '0'],
  ['idle_in_transaction_session_timeout', '0'],
  ['lock_timeout', '0'],
  ['application_name', 'procura-migrate'],
]
  .map(([name, value]) => `set_config('${name}', '${value}', true)`)
  .join(', ')}`;
