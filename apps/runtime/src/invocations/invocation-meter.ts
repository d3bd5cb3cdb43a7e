/** Records the load of one application. On the path of every invocation: its methods only count. */
export interface InvocationMeter {
  /** A call has arrived. */
  arrive(): void;
  /** An invocation has run on a worker of a code version. */
  record(codeVersion: string, serviceMs: number, isFailure: boolean): void;
}
