/** How long everything takes. */
export interface Pace {
  readonly rounds: number;
  /** For one load of one route in one round. */
  readonly loadMs: number;
  /** Of each load, before the first round: until everything is compiled, however slow the machine is. */
  readonly warmUpRequests: number;
}

export const thorough: Pace = { rounds: 7, loadMs: 1_500, warmUpRequests: 5_000 };
/** Short, to compare ratios while working on the code. */
export const quick: Pace = { rounds: 3, loadMs: 700, warmUpRequests: 2_000 };
