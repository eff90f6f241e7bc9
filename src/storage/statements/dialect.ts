import { Column, type SQL, sql } from 'drizzle-orm';

/** Members of the bodies of audit records that are indexed. */
export const bodyMembers = ['action', 'actor', 'after', 'capability', 'target'] as const;
type BodyMember = (typeof bodyMembers)[number];

/** The parts of SQL that engines spell differently. */
export interface Dialect {
  /** Whether the value is one of those of the array that is given as JSON under `placeholder`. */
  inList(value: Column | SQL, placeholder: string): SQL;
  /**
   * A member of the body of an audit record, NULL where the body is damaged. An index on it is computed by the database: there
   * is no column to change.
   */
  memberOfBody(name: BodyMember): SQL;
  /** The name under which a row can be found again within one statement, in every table. */
  readonly rowPlace: 'rowid' | 'ctid';
  /** Whether the newest numbers of rows are kept in a row of their own, so that deleting rows does not lose them. */
  readonly keepsNewestNumbers: boolean;
}

export const sqliteDialect: Dialect = {
  inList: (value, placeholder) => sql`${value} IN (SELECT value FROM json_each(${sql.placeholder(placeholder)}))`,
  memberOfBody: (name) => sql.raw(`CASE WHEN json_valid("body") THEN "body" ->> '${name}' END`),
  rowPlace: 'rowid',
  keepsNewestNumbers: false,
};

export const postgresDialect: Dialect = {
  inList: (value, placeholder) => {
    const type = sql.raw(value instanceof Column && value.dataType === 'number' ? 'bigint' : 'text');
    return sql`${value} = ANY (ARRAY(SELECT json_array_elements_text(${sql.placeholder(placeholder)}::json)::${type}))`;
  },
  memberOfBody: (name) => sql.raw(`body_member("body", '${name}')`),
  rowPlace: 'ctid',
  keepsNewestNumbers: true,
};
