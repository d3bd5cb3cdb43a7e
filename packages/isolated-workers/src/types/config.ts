import type { MessageType } from './messages.js';

/** Why a worker ended, as reported by the system. */
export type ShutdownReason =
  | { readonly type: 'exit'; readonly code: number | null; readonly signal: string | null }
  | { readonly type: 'error'; readonly error: Error }
  | { readonly type: 'close' };

/** What happens to a request that a dead worker had started. */
export type UnexpectedShutdownStrategy =
  | { readonly strategy: 'reject' }
  /** Only for idempotent requests. `attempts` counts all tries including the first; 2 by default. */
  | { readonly strategy: 'retry'; readonly attempts?: number };

/** A strategy for all messages, and others for some of them: by name, or in `byType` where a name would be ambiguous. */
export type UnexpectedShutdownConfig<Defs> = UnexpectedShutdownStrategy & {
  readonly byType?: { readonly [Type in MessageType<Defs>]?: UnexpectedShutdownStrategy };
} & (string extends MessageType<Defs>
    ? unknown // any name: options and messages could not be distinguished
    : {
        readonly [Type in Exclude<MessageType<Defs>, 'strategy' | 'attempts' | 'byType'>]?: UnexpectedShutdownStrategy;
      });

/** Time limits in milliseconds; 0 means none. */
export interface TimeoutConfig<Defs> {
  /** From the start of a worker to its `startWorkerServer`; 10 s by default. Time in which this process is blocked hardly counts. */
  readonly startup?: number;
  /** For one attempt of a request: from `send`, and anew when it is sent again after a crash. 5 min by default. */
  readonly request?: number;
  /** The same for single messages. */
  readonly byType?: { readonly [Type in MessageType<Defs>]?: number };
  /** For a request in all, from `send` to the answer, with restarts and all attempts. No limit by default. */
  readonly total?: number;
  /**
   * What happens to the worker of a request that timed out: `recycle` ends it, `keep` leaves it alone. By default it is ended
   * if it is stuck, see `cancellation`.
   */
  readonly onTimeout?: 'keep' | 'recycle';
}

/** When a worker is ended because a request that was cancelled or timed out blocks its event loop. */
export interface StuckWorkerConfig {
  /**
   * A worker acknowledges a cancellation as soon as its event loop turns. One that has not done so within this time is killed
   * and restarted; requests it had not begun run again. It is spared while another request that it has begun still has its
   * caller, because that one may be what computes. 5 s by default, and none with `onTimeout: 'keep'`; 0 means no limit.
   */
  readonly acknowledgeMs?: number;
}

/** How often and how fast a worker that keeps dying is restarted. */
export interface RestartConfig {
  /**
   * Unplanned restarts allowed within the period; one more makes the worker unavailable. 5 by default, and then restarts for
   * the retry of a request do not count: its `attempts` limit them. A number that is set counts all.
   */
  readonly max?: number;
  /** 30 s by default. */
  readonly periodMs?: number;
  /** The delay before the second restart in a row; the first is immediate. Doubles up to `maxDelayMs`, with jitter. */
  readonly delayMs?: number;
  readonly maxDelayMs?: number;
}

/** When a request that kills workers is refused before it reaches another worker. */
export interface QuarantineConfig {
  /** Workers that a request may kill as the only suspect before it is refused; 3 by default. 0 disables quarantine. */
  readonly afterKills?: number;
  /** How long the request is refused; 10 min by default. */
  readonly forMs?: number;
}
