import { customType } from 'drizzle-orm/sqlite-core';

/** JSON in a text column. null is stored as NULL; drizzle's own json mode would store the text `null`. */
export function jsonText<T>(name?: string) {
  const column = customType<{ data: T; driverData: string | null }>({
    dataType: () => 'text',
    toDriver: (value) => (value === null ? null : JSON.stringify(value)),
    fromDriver: (text) => JSON.parse(text as string) as T,
  });
  return name === undefined ? column() : column(name);
}
