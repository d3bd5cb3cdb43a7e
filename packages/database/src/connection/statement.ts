/** A SQL statement. A named one is prepared once per connection and then only executed. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  /** Fails the statement after this time, and closes its connection; `statementTimeoutMs` of the session unless given. Not for a named one. */
  readonly timeoutMs?: number;
}

/** Declares a prepared statement for a hot path: PostgreSQL parses and plans it once per connection. */
export function prepared(name: string, text: string): Statement {
  return { name, text };
}

export type Row = Record<string, unknown>;

/** Target of statements: the pool, a transaction or a dedicated connection. */
export interface Queryable {
  query<R extends object = Row>(statement: Statement | string, values?: readonly unknown[]): Promise<R[]>;
}

/** Converts a statement to the driver's form. */
export function toQuery(
  statement: Statement | string,
  values: readonly unknown[],
): { text: string; values: unknown[]; name?: string; query_timeout?: number } {
  const { text, name, timeoutMs }: Statement = typeof statement === 'string' ? { text: statement } : statement;
  return {
    text,
    values: [...values],
    ...(name !== undefined && { name }),
    ...(timeoutMs !== undefined && { query_timeout: timeoutMs }),
  };
}
