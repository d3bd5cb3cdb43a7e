/** One thing that is wrong with a request. Errors with several carry them as `details.problems`; a response lists all of them. */
export interface RecordProblem {
  /** The name of the constraint for a value (`maxLength`, `reference`), else a code of the catalogue. */
  readonly code: string;
  /** What is wrong, the value, and what to send instead. */
  readonly detail: string;
  readonly source: { readonly pointer: string } | { readonly parameter: string } | { readonly header: string };
}

/** Most problems of one answer. Without a bound, a body of ten megabytes that is wrong in every value occupies the worker for minutes. */
export const mostProblems = 100;

/** Collects the problems of a request. Throws as soon as there are `mostProblems`: what follows is not read any more. */
export class ProblemList {
  readonly #problems: RecordProblem[] = [];
  readonly #toError: (details: { readonly problems: readonly RecordProblem[] }) => Error;

  constructor(toError: (details: { readonly problems: readonly RecordProblem[] }) => Error) {
    this.#toError = toError;
  }

  add(problem: RecordProblem): void {
    this.#problems.push(problem);
    if (this.#problems.length >= mostProblems) this.throwIfAny();
  }

  throwIfAny(): void {
    if (this.#problems.length > 0) throw this.#toError({ problems: this.#problems });
  }
}
