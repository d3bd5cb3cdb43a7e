import { setMaxListeners } from 'node:events';
import type { RecordEventTail } from '@drover/collection-engine';
import { EndpointTargets, type EndpointGuard, type EndpointObservation } from '@drover/dispatchers';
import { headerLine, requestHead } from '@drover/http-edge';
import {
  backOffMs,
  WakeUp,
  type BackOffPolicy,
  type Clock,
  type Lifecycle,
  type Observe,
  type Randomness,
} from '@drover/service-kit';
import { postResult, type PostOutcome } from '../callbacks/post-result.js';
import { signatureHeaders } from '../callbacks/sign-callback.js';
import type { EnvCipher } from '../functions/env-cipher.js';
import type { WebhookObservation } from './observations.js';
import type { DueDelivery, WebhookQueue } from './webhook-queue.js';
import { secretOwner } from './webhook-store.js';

export interface WebhookSenderOptions {
  readonly queue: WebhookQueue;
  readonly tail: Pick<RecordEventTail, 'position' | 'onWritten'>;
  readonly guard: EndpointGuard;
  readonly cipher: EnvCipher;
  readonly clock: Clock;
  readonly randomness: Pick<Randomness, 'fraction'>;
  readonly observe: Observe<WebhookObservation | EndpointObservation>;
  readonly pause?: BackOffPolicy;
}

const maxInFlight = 64;
const maxInFlightPerWebhook = 8;
const tryTimeoutMs = 15_000;
/** Twelve attempts take eight hours: long enough for a receiver that is down over a night, and less than changes are kept. */
const maxAttempts = 12;
const defaultPause: BackOffPolicy = { firstMs: 2_000, maxMs: 3_600_000, factor: 3 };
/** Due retries of this and other replicas are found this late. */
const pollMs = 1_000;
const idleMs = 5_000;
const sweepMs = 600_000;

/**
 * Makes deliveries of changes for webhooks, and posts them until the receiver answers with 2xx: at least once, in order per record.
 * Every replica of the control plane sends; the queue gives each delivery to one of them.
 */
export class WebhookSender implements Lifecycle {
  readonly name = 'webhooks';
  readonly #options: WebhookSenderOptions;
  readonly #targets: EndpointTargets;
  readonly #wakeUp = new WakeUp();
  readonly #closing = new AbortController();
  readonly #stopping = new AbortController();
  /** Deliveries that are being sent, with their webhook. */
  readonly #inFlight = new Map<Promise<void>, string>();
  #unsubscribe: () => void = () => undefined;
  #done: Promise<void> = Promise.resolve();
  #sweptMs = Number.NEGATIVE_INFINITY;
  /** As of the last look; one that another replica has created is found after `idleMs`. */
  #hasWebhooks = false;
  /** Delay of the first retry of this process that the loop does not know of yet. */
  #retryInMs = Number.POSITIVE_INFINITY;

  constructor(options: WebhookSenderOptions) {
    this.#options = options;
    setMaxListeners(maxInFlight, this.#stopping.signal); // every request in flight listens
    const limits = { connectTimeoutMs: tryTimeoutMs, maxResponseBytes: 65_536 };
    this.#targets = new EndpointTargets({ ...options, limits, maxTargets: 256 });
  }

  async start(): Promise<void> {
    // Without webhooks a write concerns none. `bench:collections`, patch: the platform process asked 100 times a second.
    this.#unsubscribe = this.#options.tail.onWritten(() => {
      if (this.#hasWebhooks) this.wake();
    });
    this.#done = this.#run();
  }

  async drain(): Promise<void> {
    this.#closing.abort(new Error('webhooks are drained'));
    await Promise.all([this.#done, ...this.#inFlight.keys()]);
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    this.#closing.abort(new Error('webhooks are stopped'));
    this.#stopping.abort(new Error('webhooks are stopped'));
    await Promise.all([this.#done, ...this.#inFlight.keys()]);
    await this.#targets.close();
  }

  /** Looks for deliveries soon. */
  wake(): void {
    this.#wakeUp.notify();
  }

  async #run(): Promise<void> {
    const { clock, observe } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      this.#wakeUp.reset();
      let waitMs = idleMs;
      try {
        if (await this.#send()) waitMs = pollMs;
      } catch (error) {
        if (!signal.aborted) observe({ kind: 'webhook.loop-failed', error });
      }
      const atMostMs = Math.min(waitMs, this.#retryInMs);
      this.#retryInMs = Number.POSITIVE_INFINITY;
      await this.#wakeUp.wait(clock, atMostMs, signal);
    }
  }

  /** Resolves with whether there are webhooks. */
  async #send(): Promise<boolean> {
    const { queue, tail, clock } = this.#options;
    this.#hasWebhooks = await queue.hasWebhooks();
    if (!this.#hasWebhooks) return false;
    await queue.fanOut(await tail.position());
    const room = maxInFlight - this.#inFlight.size;
    const claimed = room > 0 ? await queue.claim(room, maxInFlightPerWebhook, countOf(this.#inFlight.values())) : [];
    for (const delivery of claimed) {
      const sending = this.#deliver(delivery).finally(() => {
        this.#inFlight.delete(sending);
        this.wake(); // the next change of its record may be sent, and there is room
      });
      this.#inFlight.set(sending, delivery.webhookId);
    }
    if (clock.monotonicMs() - this.#sweptMs >= sweepMs) {
      this.#sweptMs = clock.monotonicMs();
      await queue.sweep();
    }
    return true;
  }

  /** Never rejects: a delivery whose end cannot be recorded is claimed again, and sent again. */
  async #deliver(delivery: DueDelivery): Promise<void> {
    const { queue, randomness, observe, pause = defaultPause } = this.#options;
    const { webhookId, position, attempts } = delivery;
    const about = { webhookId, position, attempts, origin: originOf(delivery.url) };
    try {
      const outcome = await this.#post(delivery);
      if (outcome.kind === 'delivered') {
        observe({ kind: 'webhook.delivered', ...about });
        return await queue.end(delivery, 'delivered');
      }
      const { problem } = outcome;
      if (this.#stopping.signal.aborted) return await queue.postpone(delivery, problem, 0);
      if (delivery.body === undefined || attempts >= maxAttempts) {
        observe({ kind: 'webhook.failed', ...about, problem });
        return await queue.end(delivery, 'failed', problem);
      }
      const delayMs = Math.max(backOffMs(pause, attempts, randomness), Math.min(pause.maxMs, outcome.pauseMs ?? 0));
      observe({ kind: 'webhook.postponed', ...about, problem, delayMs });
      await queue.postpone(delivery, problem, delayMs);
      this.#retryInMs = Math.min(this.#retryInMs, delayMs);
    } catch (error) {
      observe({ kind: 'webhook.loop-failed', error });
    }
  }

  /** A name may have another address since the webhook was created: the guard checks every connection. */
  async #post({ webhookId, tenantId, url: text, sealed, position, body }: DueDelivery): Promise<PostOutcome> {
    const { guard, cipher, clock } = this.#options;
    const notDelivered = (problem: string): PostOutcome => ({ kind: 'not-delivered', problem, retry: true });
    if (body === undefined) return notDelivered('the change was removed before it could be delivered');
    const problem = guard.quickProblemOf(text);
    if (problem !== undefined) return notDelivered(problem);
    const url = new URL(text);
    const owner = secretOwner(tenantId, webhookId);
    const keys = sealed.map((one) => Buffer.from(cipher.open(owner, one).get('value') ?? '', 'base64'));
    const signature = signatureHeaders({ id: `${webhookId}-${position}`, sentAt: clock.now(), body }, keys);
    let head =
      requestHead('POST', url) + headerLine('content-type', 'application/json') + headerLine('user-agent', 'drover');
    for (let index = 0; index + 1 < signature.length; index += 2)
      head += headerLine(signature[index] ?? '', signature[index + 1] ?? '');
    const target = this.#targets.targetFor(tenantId, url);
    return postResult(target, { head, body }, { clock, timeoutMs: tryTimeoutMs, signal: this.#stopping.signal });
  }
}

function countOf(names: Iterable<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** For logs: without path and query, which may contain keys. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'an invalid URL';
}
