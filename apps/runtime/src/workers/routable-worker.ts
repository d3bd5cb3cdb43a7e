/** The part of a function worker that routing reads. */
export interface RoutableWorker {
  readonly id: string;
  readonly codeVersion: string;
  /** Maximum number of concurrent invocations. */
  readonly limit: number;
  /** Whether it may be handed another call with this many slots reserved; undefined: always. May change at any time: see `refresh`. */
  readonly mayTake?: (reserved: number) => boolean;
}
