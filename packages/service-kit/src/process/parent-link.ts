import { isCodedError, type CodedError } from '@drover/contracts';
import { messageOf } from '../observations/describe-error.js';

/** Message from a child process to `drover up` over their IPC channel. */
export type ProcessReport =
  | { readonly type: 'ready'; readonly announcement: Readonly<Record<string, string>> }
  | {
      readonly type: 'failed';
      readonly code: string;
      readonly message: string;
      /** The same start may succeed later, for example when the database is back. Absent: it may not. */
      readonly retryable?: boolean;
    };

/** Validates a message of the IPC channel: the child may be of another version. */
export function isProcessReport(message: unknown): message is ProcessReport {
  if (!isRecord(message)) return false;
  switch (message['type']) {
    case 'ready': {
      const { announcement } = message;
      return isRecord(announcement) && Object.values(announcement).every((value) => typeof value === 'string');
    }
    case 'failed':
      return typeof message['code'] === 'string' && typeof message['message'] === 'string';
    default:
      return false;
  }
}

export function failureReport(error: unknown): ProcessReport & { readonly type: 'failed' } {
  const coded = firstCoded(error);
  return {
    type: 'failed',
    code: coded?.code ?? 'PROCESS_FAILED',
    message: messageOf(error),
    retryable: coded?.retryable ?? false,
  };
}

/** The IPC channel to the parent process. A process that was started by hand has none. */
export interface ParentLink {
  report(report: ProcessReport): Promise<void>;
  /** Calls `action` once when the parent is gone; immediately if it is gone already. */
  onLost(action: () => void): void;
  close(): void;
}

export function parentLink(host: NodeJS.Process): ParentLink | undefined {
  const send = host.send?.bind(host);
  if (!send) return undefined;
  const listeners: (() => void)[] = [];
  return {
    // A report that cannot be delivered has no receiver; `onLost` handles that.
    report: (report) => new Promise((resolve) => send(report, () => resolve())),
    onLost(action) {
      if (!host.connected) return action();
      listeners.push(action);
      host.once('disconnect', action);
    },
    close() {
      for (const listener of listeners.splice(0)) host.off('disconnect', listener);
      if (host.connected) host.disconnect();
    },
  };
}

/** Returns the first coded error in an AggregateError: the failures are in order, so this is the cause of the others. */
function firstCoded(error: unknown): CodedError | undefined {
  if (isCodedError(error)) return error;
  if (!(error instanceof AggregateError)) return undefined;
  return error.errors.map((inner) => firstCoded(inner)).find((coded) => coded !== undefined);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
