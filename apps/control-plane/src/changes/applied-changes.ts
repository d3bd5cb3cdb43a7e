import { waitingForHeader } from '@drover/contracts';
import type { BarrierSubject, EventBus } from '@drover/event-bus';
import type { RouteHandler, RouteRequest } from '../http/route-handler.js';

/** The part of every request that tells whether and how long its caller waits. */
type ChangeRequest = Pick<RouteRequest<RouteHandler['route']>, 'origin'> & { readonly params?: unknown };

export interface AppliedChangesOptions {
  readonly bus: Pick<EventBus, 'barrier'>;
  /** Of a request that does not say how long it waits. */
  readonly waitMs: number;
}

/** What a request has changed, for processes that need to know more than that events were handled. */
export type SubjectOf = (request: never) => Promise<BarrierSubject | undefined>;

/**
 * Makes answers promises: a change that was answered holds on every process of this installation (docs/decisions/0088). What does not
 * follow in time is named in a header of the answer, which is a success all the same: the change is stored, and they follow later.
 */
export class AppliedChanges {
  readonly #options: AppliedChangesOptions;

  constructor(options: AppliedChangesOptions) {
    this.#options = options;
  }

  /** Wraps the handlers that change something. */
  awaited(handlers: readonly RouteHandler[], subjectOf?: SubjectOf): readonly RouteHandler[] {
    return handlers.map((handler) => {
      const { method, upload } = handler.route;
      if (method === 'GET' || upload) return handler; // an uploaded file is used by nothing yet
      return { ...handler, answer: async (request: never) => this.#answer(handler, request, subjectOf) };
    });
  }

  async #answer({ answer }: RouteHandler, request: never, subjectOf: SubjectOf | undefined) {
    const answered = await answer(request);
    const { origin } = request as ChangeRequest; // of every request
    const withinMs = waitOf(origin.prefer, this.#options.waitMs);
    // The replica that the caller has asked waits for all, also for this one.
    if (withinMs === 0 || origin.isForwarded) return answered;
    const about = await subjectOf?.(request).catch(() => undefined);
    const waitsFor = await this.#options.bus.barrier({ withinMs, about });
    if (waitsFor.length === 0) return answered;
    return { ...answered, headers: { ...answered.headers, [waitingForHeader]: headerText(waitsFor) } };
  }
}

/** RFC 7240: `respond-async` waits for nothing, `wait=5` for five seconds, but no longer than the server does by itself. */
function waitOf(prefer: string | undefined, mostMs: number): number {
  if (prefer === undefined) return mostMs;
  if (/(^|[,;\s])respond-async([,;\s]|$)/i.test(prefer)) return 0;
  const [, seconds] = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,6})"?/i.exec(prefer) ?? [];
  return seconds === undefined ? mostMs : Math.min(mostMs, Number(seconds) * 1_000);
}

/** The longest list that a header carries; the rest is counted. */
const maxNamed = 5;
const maxTextLength = 1_000;

function headerText(waitsFor: readonly string[]): string {
  const named = waitsFor.slice(0, maxNamed).map((one) => one.replaceAll(/[^\x20-\x7e]+/g, ' '));
  const more = waitsFor.length > maxNamed ? [`${waitsFor.length - maxNamed} more`] : [];
  return [...named, ...more].join('; ').slice(0, maxTextLength);
}
