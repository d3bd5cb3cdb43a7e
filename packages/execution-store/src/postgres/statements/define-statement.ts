import { prepared, type Queryable } from '@drover/database';

/** Runs a statement. Resolves with its rows. */
export type RunStatement<Parameters extends readonly unknown[], StatementRow extends object> = (
  database: Queryable,
  parameters: Parameters,
) => Promise<StatementRow[]>;

/**
 * Defines a prepared statement with the types of its parameters, `$1` first, and of its rows. Returns the query's own promise: most
 * statements are on the path of every execution.
 */
export function defineStatement<Parameters extends readonly unknown[], StatementRow extends object>(
  name: string,
  text: string,
): RunStatement<Parameters, StatementRow> {
  const statement = prepared(name, text);
  return (database, parameters) => database.query<StatementRow>(statement, parameters);
}
