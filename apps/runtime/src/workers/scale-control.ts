/** Why another function worker is asked for, or one less. */
export interface ScaleUpRequest {
  /** `tenant/application:metadata:code`; undefined for a placeholder. */
  readonly applicationKey: string | undefined;
  /** `urgent`: the application has none left. */
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
  /** The one it takes the place of, if any. */
  readonly replaces: string | undefined;
}

/** Whoever starts and stops function workers. Asking never waits and never fails: it is heard or it is logged. */
export interface ScaleControl {
  requestWorker(request: ScaleUpRequest): void;
  /** This one was given up and may still run: whoever owns its process should end it. */
  endWorker(workerId: string, reason: string): void;
}
