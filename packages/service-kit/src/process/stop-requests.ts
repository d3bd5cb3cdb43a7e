import type { ParentLink } from './parent-link.js';

export interface StopRequests {
  /** Aborts with the reason to stop. */
  readonly first: AbortSignal;
  /** Aborts when somebody insists. */
  readonly second: AbortSignal;
}

/**
 * Listens for whoever wants this process to stop. Its listeners stay until it exits: a signal on the way out must not
 * change the exit code. The death of the parent never counts as insisting, nor does the first signal after it: whoever
 * held us on a leash breaks the channel and has SIGTERM sent at the same moment, and means one request by both.
 */
export function stopRequests(host: NodeJS.Process, parent: ParentLink | undefined): StopRequests {
  const [first, second] = [new AbortController(), new AbortController()];
  let signals = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    signals += 1;
    (signals === 1 ? first : second).abort(request(`received ${signal}`));
  };
  host.on('SIGTERM', onSignal);
  host.on('SIGINT', onSignal);
  parent?.onLost(() => first.abort(request('its parent process is gone')));
  return { first: first.signal, second: second.signal };
}

function request(reason: string): DOMException {
  return new DOMException(reason, 'AbortError');
}
