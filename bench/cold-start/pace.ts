/** How long everything takes. */
export interface Pace {
  readonly rounds: number;
  /** First calls of an application at zero, in one round and of one kind. */
  readonly coldStarts: number;
  /** Applications that take turns: one is called while the others go back to zero. */
  readonly applications: number;
  /** Applications that are deployed and then rest. */
  readonly idleApplications: number;
}

export const thorough: Pace = { rounds: 4, coldStarts: 25, applications: 8, idleApplications: 100 };
/** Short, to see that everything runs. */
export const quick: Pace = { rounds: 1, coldStarts: 6, applications: 3, idleApplications: 10 };
