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

/** The partitions a statement writes to, in ascending order, and the fencing token of this replica for each. */
export type PartitionClaims = readonly [partitions: Buffer, fencingTokens: Buffer];

/** The primary keys of journal rows. */
export type JournalRowKeys = readonly [partitions: Buffer, fencingTokens: Buffer, numbers: Buffer];

/** The partitions that another replica owns by now. Unless it is empty, the statement wrote nothing. */
export interface LostPartitionsRow {
  readonly lost: number[];
}
