/** The part of a function worker that routing reads. */
export interface RoutableWorker {
  readonly id: string;
  readonly codeVersion: string;
  /** Maximum number of concurrent invocations. */
  readonly limit: number;
}
