import type { FunctionWorker } from './function-worker.js';

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
    | 'saturated'
    /** An application without a worker has work. */
    | 'wake';
  /** Id of the worker that it replaces, if any. */
  readonly replaces: string | undefined;
  /** True: it is for isolated invocations. */
  readonly isIsolated?: boolean;
}

/** Starts and ends function workers. Calls neither wait nor throw. */
export interface ScaleControl {
  requestWorker(request: ScaleUpRequest): void;
  /** Records that a worker serves. */
  recordReady(workerId: string): void;
  /** Records every change of the state of a worker. */
  recordMove(worker: FunctionWorker): void;
  /** Keeps one more worker of an application for isolated invocations. Returns false if none can be started. */
  isolate(applicationKey: string): boolean;
  endIsolation(applicationKey: string): void;
  /** Ends the process of a worker that cannot serve any more. It has `graceMs` to end by itself; 0 kills it at once. */
  endWorker(workerId: string, reason: string, graceMs: number): void;
}
