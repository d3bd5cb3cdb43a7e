/** SQL by hand. A named one is prepared once per connection and then only executed. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

/** A statement of a hot path: PostgreSQL parses and plans it once per connection. */
export function prepared(name: string, text: string): Statement {
  return { name, text };
}

export type Row = Record<string, unknown>;

/** Whatever statements can be sent to: the pool, a transaction, a connection of one's own. */
export interface Queryable {
  query<R extends object = Row>(statement: Statement | string, values?: readonly unknown[]): Promise<R[]>;
}

/** The driver's form of a statement. */
export function toQuery(
  statement: Statement | string,
  values: readonly unknown[],
): { text: string; values: unknown[]; name?: string } {
  const { text, name } = typeof statement === 'string' ? { text: statement, name: undefined } : statement;
  return { text, values: [...values], ...(name !== undefined && { name }) };
}
