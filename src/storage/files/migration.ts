/** A step from one schema to the next. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
}
