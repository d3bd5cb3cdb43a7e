import type { AnswerBegin, ClientRequest } from '@drover/http-edge';
import type { Clock } from '@drover/service-kit';
import { type EndpointTarget, retryAfterMs, toFault } from '@drover/dispatchers';

/** The outcome of one request. `retry`: another request may succeed, after `pauseMs` if the receiver asked for a delay. */
export type PostOutcome =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'not-delivered'; readonly problem: string; readonly retry: boolean; readonly pauseMs?: number };

/** Posts a result once. Only the status of the answer counts. */
export function postResult(
  target: EndpointTarget,
  request: ClientRequest,
  { clock, timeoutMs, signal }: { readonly clock: Clock; readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<PostOutcome> {
  return new Promise((resolve) => {
    const { connections, origin } = target;
    const connection = connections.acquire();
    let ended = false;
    const end = (answer: AnswerBegin | undefined, otherwise: () => PostOutcome): void => {
      if (ended) return;
      ended = true;
      cancel();
      signal.removeEventListener('abort', stop);
      // A status decides, even when the rest of the answer failed.
      const begin = answer ?? connection.begin;
      if (answer) connections.release(connection);
      else connections.drop(connection);
      resolve(begin ? outcomeOf(begin, origin, clock) : otherwise());
    };
    const timedOut = (): PostOutcome => ({
      kind: 'not-delivered',
      problem: `${origin} did not answer in time`,
      retry: true,
    });
    const cancel = clock.after(timeoutMs, () => end(undefined, timedOut));
    const stop = (): void =>
      end(undefined, () => ({ kind: 'not-delivered', problem: 'the platform is stopping', retry: false }));
    signal.addEventListener('abort', stop, { once: true });
    connection.send(request, {
      answered: (answer) => end(answer, timedOut),
      failed(error) {
        end(undefined, () => {
          const { message, transient } = toFault(error, origin, false);
          return { kind: 'not-delivered', problem: message, retry: transient };
        });
      },
    });
  });
}

function outcomeOf({ status, headers }: AnswerBegin, origin: string, clock: Clock): PostOutcome {
  if (status < 300) return { kind: 'delivered' };
  const pauseMs = retryAfterMs(headers, () => clock.now());
  const retry = status === 408 || status === 429 || status >= 500;
  const problem = `${origin} answered ${status}`;
  return { kind: 'not-delivered', problem, retry, ...(pauseMs === undefined ? {} : { pauseMs }) };
}
