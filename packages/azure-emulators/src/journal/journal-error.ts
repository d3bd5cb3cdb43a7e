/**
 * - JOURNAL_LOCKED: another process has the directory open
 * - JOURNAL_CORRUPT: bytes that were durable have changed; nothing was replayed past them and nothing was written
 * - JOURNAL_REFUSES_WRITES: the disk is full or broken; accepted records are safe, new ones are refused until it works again
 * - JOURNAL_CLOSED: used after `close`
 */
export type JournalErrorCode = 'JOURNAL_LOCKED' | 'JOURNAL_CORRUPT' | 'JOURNAL_REFUSES_WRITES' | 'JOURNAL_CLOSED';

export class JournalError extends Error {
  readonly code: JournalErrorCode;

  constructor(code: JournalErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'JournalError';
    this.code = code;
  }
}
