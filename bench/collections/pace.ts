/** How long everything takes. */
export interface Pace {
  readonly rounds: number;
  /** For one line of one server in one round. */
  readonly loadMs: number;
  /** Of each line, before the first round: until everything is compiled, however slow the machine is. */
  readonly warmUpRequests: number;
  /** Records of the collection that is read and written. */
  readonly records: number;
  /** Rows of the import in one round. */
  readonly importedRows: number;
  /** Definitions that are posted in one round. */
  readonly definitions: number;
}

export const thorough: Pace = {
  rounds: 7,
  loadMs: 2_000,
  warmUpRequests: 2_000,
  records: 100_000,
  importedRows: 100_000,
  definitions: 10,
};
/** Short, to compare ratios while working on the code. */
export const quick: Pace = {
  rounds: 3,
  loadMs: 1_000,
  warmUpRequests: 500,
  records: 100_000,
  importedRows: 40_000,
  definitions: 3,
};
