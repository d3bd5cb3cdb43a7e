import type { Launcher } from './launcher.js';
import type { ParentLink } from './parent-link.js';

export interface StopRequests {
  /** Aborts on the first request, with its reason. */
  readonly first: AbortSignal;
  /** Aborts on a second request, which skips the drain. */
  readonly second: AbortSignal;
}

export interface StopSources {
  /** The process that supervises this one. */
  readonly parent?: ParentLink | undefined;
  /** The package manager that started this process. */
  readonly launcher?: Launcher | undefined;
  readonly nowMs: () => number;
}

/**
 * Ctrl-C reaches every process of the terminal's group, and npm forwards the signal that it gets itself: a second one within
 * this time is the same request.
 */
const forwardedWithinMs = 1_000;

/**
 * Collects the requests to stop this process. The listeners stay until exit, so that a signal during the shutdown does not
 * change the exit code.
 *
 * A second request skips the drain. These are not a second request:
 * - signals while a parent supervises this process: a service manager may signal all processes at once, and the parent then
 *   sends its own; the parent kills this process if it must not wait
 * - the death of the parent, and the first signal after it: its leash sends SIGTERM when the IPC channel closes
 * - the signal that a launcher forwards
 */
export function stopRequests(host: NodeJS.Process, { parent, launcher, nowMs }: StopSources): StopRequests {
  const [first, second] = [new AbortController(), new AbortController()];
  let signals = 0;
  let signalledMs = 0;
  let isSupervised = parent !== undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    const isForwarded = launcher !== undefined && nowMs() - signalledMs < forwardedWithinMs;
    if (signals > 0 && (isSupervised || isForwarded)) return;
    signals += 1;
    signalledMs = nowMs();
    (signals === 1 ? first : second).abort(request(`received ${signal}`));
  };
  // Without a listener, the SIGHUP of a closed terminal would end the process without a drain.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) host.on(signal, onSignal);
  parent?.onLost(() => {
    isSupervised = false;
    signals = 0;
    first.abort(request('its parent process has exited'));
  });
  launcher?.onLost(() => first.abort(request('the package manager that started it has exited')));
  return { first: first.signal, second: second.signal };
}

function request(reason: string): DOMException {
  return new DOMException(reason, 'AbortError');
}
