/** Why a change is not done. */
export interface ChangeRefusal {
  /** JSON pointer into the new definition. */
  readonly path: string;
  /** Collection of the same request that is in the way; absent if it is the changed one itself. */
  readonly collection?: string;
  /** The reason, and what to do. */
  readonly message: string;
  /** Number of records in the way; absent if the change is impossible with any records. */
  readonly records?: number;
}

/** What a change does, for people. */
export interface ChangePlan {
  /** In the order in which they are done. */
  readonly steps: readonly {
    readonly about: string;
    readonly field?: string;
    /** Whether stored values are deleted. */
    readonly losesValues: boolean;
  }[];
  /** With a refusal nothing is done. */
  readonly refusals: readonly ChangeRefusal[];
}
