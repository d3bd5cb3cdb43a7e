import type { ParentLink } from './parent-link.js';

export interface StopRequests {
  /** Aborts on the first request, with its reason. */
  readonly first: AbortSignal;
  /** Aborts on a second signal, which skips the drain. */
  readonly second: AbortSignal;
}

/**
 * Collects the requests to stop this process. The listeners stay until exit, so that a signal during the shutdown does not
 * change the exit code. The death of the parent is never a second request, nor is the first signal after it: a dying parent
 * closes the IPC channel and its leash sends SIGTERM at the same time, and both are one request.
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
  parent?.onLost(() => first.abort(request('its parent process has exited')));
  return { first: first.signal, second: second.signal };
}

function request(reason: string): DOMException {
  return new DOMException(reason, 'AbortError');
}
