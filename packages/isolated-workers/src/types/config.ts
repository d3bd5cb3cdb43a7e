import type { MessageType } from './messages.js';

/** Why a worker is gone, as far as the system says. */
export type ShutdownReason =
  | { readonly type: 'exit'; readonly code: number | null; readonly signal: string | null }
  | { readonly type: 'error'; readonly error: Error }
  | { readonly type: 'close' };

/** What becomes of a request that the dead worker had started. */
export type UnexpectedShutdownStrategy =
  | { readonly strategy: 'reject' }
  /** Only for idempotent requests. `attempts` counts all tries, the first included; 2 unless told. */
  | { readonly strategy: 'retry'; readonly attempts?: number };

/** A strategy for all messages, and others for some of them: by name, or below `byType` where a name would be ambiguous. */
export type UnexpectedShutdownConfig<Defs> = UnexpectedShutdownStrategy & {
  readonly byType?: { readonly [Type in MessageType<Defs>]?: UnexpectedShutdownStrategy };
} & (string extends MessageType<Defs>
    ? unknown // any name at all: those of the options could not be told from those of messages
    : {
        readonly [Type in Exclude<MessageType<Defs>, 'strategy' | 'attempts' | 'byType'>]?: UnexpectedShutdownStrategy;
      });

/** Time limits in milliseconds; 0 means none. */
export interface TimeoutConfig<Defs> {
  /** From starting a worker to its `startWorkerServer`; 10 s unless told. */
  readonly startup?: number;
  /** For one request; 5 min unless told. */
  readonly request?: number;
  readonly byType?: { readonly [Type in MessageType<Defs>]?: number };
  /** What happens to the worker of a request that ran out of time: `recycle` ends it, since it may be stuck. */
  readonly onTimeout?: 'keep' | 'recycle';
}

/** How often and how fast a worker that keeps dying is started again. */
export interface RestartConfig {
  /** At most this many unplanned restarts within the period; one more and the worker is unavailable. 5 unless told. */
  readonly max?: number;
  /** 30 s unless told. */
  readonly periodMs?: number;
  /** The pause before the second start in a row; the first is at once. Doubles up to `maxDelayMs`, with jitter. */
  readonly delayMs?: number;
  readonly maxDelayMs?: number;
}

/** When a request that kills workers is refused before it touches another. */
export interface QuarantineConfig {
  /** Workers it may kill, as the only suspect, before it is refused when it is sent again; 3 unless told. 0 turns quarantine off. */
  readonly afterKills?: number;
  /** How long it stays refused; 10 min unless told. */
  readonly forMs?: number;
}
