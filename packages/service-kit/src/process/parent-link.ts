import { isCodedError } from '@drover/contracts';
import { messageOf } from '../observations/describe-error.js';

/** What a process that `drover up` started tells it over their channel. */
export type ProcessReport =
  | { readonly type: 'ready'; readonly announcement: Readonly<Record<string, string>> }
  | { readonly type: 'failed'; readonly code: string; readonly message: string };

/** Checks what came over the channel: another version of us may be at the other end. */
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
  return { type: 'failed', code: codeOf(error) ?? 'PROCESS_FAILED', message: messageOf(error) };
}

/** The channel to the parent, when there is one; a process started by hand has none. */
export interface ParentLink {
  report(report: ProcessReport): Promise<void>;
  /** Called once when the parent is gone; at once when it went before anybody asked. */
  onLost(action: () => void): void;
  close(): void;
}

export function parentLink(host: NodeJS.Process): ParentLink | undefined {
  const send = host.send?.bind(host);
  if (!send) return undefined;
  const listeners: (() => void)[] = [];
  return {
    // A report that cannot be delivered has no reader: `onLost` is how that is noticed.
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

/** Of several failures in one, the first that has a code is what began it. */
function codeOf(error: unknown): string | undefined {
  if (isCodedError(error)) return error.code;
  if (!(error instanceof AggregateError)) return undefined;
  return error.errors.map((inner) => codeOf(inner)).find((code) => code !== undefined);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
