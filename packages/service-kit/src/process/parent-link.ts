import { isCodedError } from '@drover/contracts';

/** What a process that `drover up` started tells it over their channel. */
export type ProcessReport =
  | { readonly type: 'ready'; readonly announcement: Readonly<Record<string, string>> }
  | { readonly type: 'failed'; readonly code: string; readonly message: string };

/** Checks what came over the channel: another version of us may be at the other end. */
export function isProcessReport(message: unknown): message is ProcessReport {
  if (typeof message !== 'object' || message === null || !('type' in message)) return false;
  return message.type === 'ready' || message.type === 'failed';
}

export function failureReport(error: unknown): ProcessReport {
  const code = isCodedError(error) ? error.code : 'PROCESS_FAILED';
  return { type: 'failed', code, message: error instanceof Error ? error.message : String(error) };
}

/** The channel to the parent, when there is one; a process started by hand has none. */
export interface ParentLink {
  report(report: ProcessReport): Promise<void>;
  /** Called once when the parent is gone. */
  onLost(action: () => void): void;
  close(): void;
}

export function parentLink(host: NodeJS.Process): ParentLink | undefined {
  const send = host.send?.bind(host);
  if (!send) return undefined;
  return {
    report: (report) => new Promise((resolve) => send(report, () => resolve())),
    onLost: (action) => void host.once('disconnect', action),
    close() {
      host.removeAllListeners('disconnect');
      if (host.connected) host.disconnect();
    },
  };
}
