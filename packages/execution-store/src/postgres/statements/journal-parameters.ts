/** The partitions a statement writes to, in ascending order, and the fencing token of this replica for each. */
export type PartitionClaims = readonly [partitions: Buffer, fencingTokens: Buffer];

/** The primary keys of journal rows. */
export type JournalRowKeys = readonly [partitions: Buffer, fencingTokens: Buffer, numbers: Buffer];

/** The partitions that another replica owns by now. Unless it is empty, the statement wrote nothing. */
export interface LostPartitionsRow {
  readonly lost: number[];
}
