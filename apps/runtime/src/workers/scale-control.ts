/** A request for one more function worker. */
export interface ScaleUpRequest {
  /** `tenant/application:code`; undefined for a placeholder. */
  readonly applicationKey: string | undefined;
  /** `urgent`: the application has no other worker. */
  readonly priority: 'urgent' | 'normal';
  readonly reason:
    | 'worker-crash'
    | 'worker-hung'
    | 'invocation-timeout'
    | 'specialization-failed'
    | 'job-host-failed'
    | 'backpressure'
    | 'restart-asked'
    | 'saturated';
  /** Id of the worker that it replaces, if any. */
  readonly replaces: string | undefined;
}

/** Starts and ends function workers. Calls neither wait nor throw. */
export interface ScaleControl {
  requestWorker(request: ScaleUpRequest): void;
  /** Ends the process of a worker that was abandoned or did not end by itself. */
  endWorker(workerId: string, reason: string): void;
}
