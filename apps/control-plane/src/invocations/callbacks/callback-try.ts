import type { Clock } from '@drover/service-kit';
import type { Dispatcher as HttpDispatcher } from 'undici';
import { toFault } from '../endpoints/endpoint-fault.js';
import type { EndpointTarget } from '../endpoints/endpoint-targets.js';
import { retryAfterMs } from '../endpoints/retry-after.js';

/** What one try came to. */
export type TryOutcome =
  | { readonly kind: 'taken' }
  | { readonly kind: 'not-taken'; readonly problem: string; readonly again: boolean; readonly pauseMs?: number };

/** Posts once. What the other side says beside its status is not looked at. */
export function tryCallback(
  target: EndpointTarget,
  options: HttpDispatcher.DispatchOptions,
  { clock, timeoutMs, signal }: { readonly clock: Clock; readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<TryOutcome> {
  return new Promise((resolve) => {
    const { connections, origin } = target;
    const connection = connections.take();
    let status = 0;
    let pauseMs: number | undefined;
    let ended = false;
    const end = (isReusable: boolean, otherwise: () => TryOutcome): void => {
      if (ended) return;
      ended = true;
      cancel();
      signal.removeEventListener('abort', stop);
      if (isReusable) connections.give(connection);
      else connections.drop(connection);
      // With a status the other side has said what it thinks of it, however its answer went on.
      resolve(status === 0 ? otherwise() : judge(status, origin, pauseMs));
    };
    const notInTime = (): TryOutcome => ({
      kind: 'not-taken',
      problem: `${origin} had no answer in time`,
      again: true,
    });
    const cancel = clock.after(timeoutMs, () => end(false, notInTime));
    const stop = (): void =>
      end(false, () => ({ kind: 'not-taken', problem: 'the platform is stopping', again: false }));
    signal.addEventListener('abort', stop, { once: true });
    connection.send(options, {
      onConnect: () => undefined,
      onHeaders(given, headers) {
        if (given < 200) return true;
        status = given;
        pauseMs = retryAfterMs(headers, () => clock.now());
        return true;
      },
      onData: () => true,
      onComplete: () => end(true, notInTime),
      onError(error) {
        end(false, () => {
          const { message, transient } = toFault(error, origin, false);
          return { kind: 'not-taken', problem: message, again: transient };
        });
      },
    });
  });
}

function judge(status: number, origin: string, pauseMs: number | undefined): TryOutcome {
  if (status < 300) return { kind: 'taken' };
  const again = status === 408 || status === 429 || status >= 500;
  const problem = `${origin} answered ${status}`;
  return { kind: 'not-taken', problem, again, ...(pauseMs === undefined ? {} : { pauseMs }) };
}
