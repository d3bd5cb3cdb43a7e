import type { AnswerBegin, ClientRequest } from '@drover/http-edge';
import type { Clock } from '@drover/service-kit';
import { type EndpointTarget, retryAfterMs, toFault } from '@drover/dispatchers';

/** What one try came to. */
export type TryOutcome =
  | { readonly kind: 'taken' }
  | { readonly kind: 'not-taken'; readonly problem: string; readonly again: boolean; readonly pauseMs?: number };

/** Posts once. What the other side says beside its status is not looked at. */
export function tryCallback(
  target: EndpointTarget,
  request: ClientRequest,
  { clock, timeoutMs, signal }: { readonly clock: Clock; readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<TryOutcome> {
  return new Promise((resolve) => {
    const { connections, origin } = target;
    const connection = connections.take();
    let ended = false;
    const end = (answer: AnswerBegin | undefined, otherwise: () => TryOutcome): void => {
      if (ended) return;
      ended = true;
      cancel();
      signal.removeEventListener('abort', stop);
      // With a status the other side has said what it thinks of it, however its answer went on.
      const begin = answer ?? connection.begin;
      if (answer) connections.give(connection);
      else connections.drop(connection);
      resolve(begin ? outcomeOf(begin, origin, clock) : otherwise());
    };
    const notInTime = (): TryOutcome => ({
      kind: 'not-taken',
      problem: `${origin} had no answer in time`,
      again: true,
    });
    const cancel = clock.after(timeoutMs, () => end(undefined, notInTime));
    const stop = (): void =>
      end(undefined, () => ({ kind: 'not-taken', problem: 'the platform is stopping', again: false }));
    signal.addEventListener('abort', stop, { once: true });
    connection.send(request, {
      answered: (answer) => end(answer, notInTime),
      failed(error) {
        end(undefined, () => {
          const { message, transient } = toFault(error, origin, false);
          return { kind: 'not-taken', problem: message, again: transient };
        });
      },
    });
  });
}

function outcomeOf({ status, headers }: AnswerBegin, origin: string, clock: Clock): TryOutcome {
  if (status < 300) return { kind: 'taken' };
  const pauseMs = retryAfterMs(headers, () => clock.now());
  const again = status === 408 || status === 429 || status >= 500;
  const problem = `${origin} answered ${status}`;
  return { kind: 'not-taken', problem, again, ...(pauseMs === undefined ? {} : { pauseMs }) };
}
