/** One thing that is wrong with a request. Errors with several carry them as `details.problems`; a response lists all of them. */
export interface RecordProblem {
  /** The name of the constraint for a value (`maxLength`, `reference`), else a code of the catalogue. */
  readonly code: string;
  /** What is wrong, the value, and what to send instead. */
  readonly detail: string;
  readonly source: { readonly pointer: string } | { readonly parameter: string } | { readonly header: string };
}
