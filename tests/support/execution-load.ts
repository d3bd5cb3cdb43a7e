import { setTimeout as pause } from 'node:timers/promises';
import type { FunctionsClient, Reply } from './executions.js';

/** A call that was answered with 202. */
export interface AcceptedCall {
  readonly executionId: string;
  readonly functionName: string;
  readonly key?: string;
  /** Of a call with a key: the same key with another input is refused. */
  readonly input?: unknown;
}

export interface LoadOptions {
  readonly api: FunctionsClient;
  readonly functions: readonly string[];
  /** Executions. */
  readonly perSecond: number;
  /** From 0 to 1. */
  readonly chance: () => number;
  /** Called with every answer. */
  readonly onReply?: (reply: Reply) => void;
}

const tickMs = 50;
const againMs = 250;
/** A machine that is too slow for the rate gets fewer calls, not ever more at a time. */
const mostOpen = 64;

/**
 * Enqueues at a steady rate: single calls and batches, with and without idempotency keys, at once and delayed. Calls with a key
 * are sent again until they are answered, as a careful client does; calls without one are not sent again when they break.
 */
export class ExecutionLoad {
  readonly accepted: AcceptedCall[] = [];
  readonly acceptMs: number[] = [];
  /** Number of answers by status; 0 stands for broken connections. */
  readonly statuses = new Map<number, number>();
  readonly #options: LoadOptions;
  readonly #running: Promise<void>;
  readonly #open = new Set<Promise<void>>();
  #count = 0;
  #isOver = false;
  #isGivenUp = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  get keyed(): AcceptedCall[] {
    return this.accepted.filter(({ key }) => key !== undefined);
  }

  /** Ends the load; resolves when all calls under way are answered. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await Promise.all(this.#open);
  }

  /** Ends the load without waiting for answers, for a story that has failed. */
  giveUp(): void {
    this.#isOver = true;
    this.#isGivenUp = true;
  }

  async #run(): Promise<void> {
    const { perSecond } = this.#options;
    const startedMs = performance.now();
    let sent = 0;
    while (!this.#isOver) {
      // By the clock, not by ticks: a late tick makes up for it.
      const due = ((performance.now() - startedMs) / 1_000) * perSecond;
      while (sent < due && this.#open.size < mostOpen) sent += this.#sendSome();
      sent = Math.max(sent, due);
      await pause(tickMs);
    }
  }

  /** Sends one call or one batch; returns its number of executions. */
  #sendSome(): number {
    const { functions, chance } = this.#options;
    const name = functions[Math.floor(chance() * functions.length)] ?? '';
    if (chance() < 0.1) {
      const items = Array.from({ length: 2 + Math.floor(chance() * 8) }, () => this.#call());
      this.#keepOpen(this.#batch(name, items));
      return items.length;
    }
    this.#keepOpen(this.#single(name, this.#call()));
    return 1;
  }

  #call(): Call {
    const { chance } = this.#options;
    this.#count += 1;
    return {
      input: { n: this.#count, workMs: Math.floor(chance() * 30) },
      ...(chance() < 0.3 && { idempotencyKey: `key-${this.#count}` }),
      ...(chance() < 0.15 && { delayMs: Math.floor(chance() * 1_500) }),
    };
  }

  #keepOpen(work: Promise<void>): void {
    this.#open.add(work);
    void work.finally(() => this.#open.delete(work));
  }

  async #single(name: string, call: Call): Promise<void> {
    const { api } = this.#options;
    const { idempotencyKey, ...body } = call;
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
    const reply = await this.#send(idempotencyKey !== undefined, () => api.enqueue(name, body, headers));
    if (reply.status !== 202) return;
    const { executionId } = reply.body as { executionId: string }; // what the route promises
    this.#accept(executionId, name, call);
  }

  async #batch(name: string, items: readonly Call[]): Promise<void> {
    const { api } = this.#options;
    // Sent again only if every item has a key: the others would run twice.
    const reply = await this.#send(
      items.every(({ idempotencyKey }) => idempotencyKey !== undefined),
      () => api.enqueueBatch(name, items),
    );
    if (reply.status !== 202) return;
    const { items: answers } = reply.body as { items: readonly { executionId?: string }[] }; // what the route promises
    for (const [index, { executionId }] of answers.entries())
      if (executionId !== undefined) this.#accept(executionId, name, items[index]);
  }

  async #send(isRepeatable: boolean, ask: () => Promise<Reply>): Promise<Reply> {
    for (;;) {
      const reply = await ask();
      this.#options.onReply?.(reply);
      this.statuses.set(reply.status, (this.statuses.get(reply.status) ?? 0) + 1);
      if (reply.status === 202) this.acceptMs.push(reply.ms);
      if (!isRepeatable || this.#isGivenUp || (reply.status !== 0 && reply.status !== 503)) return reply;
      await pause(againMs);
    }
  }

  #accept(executionId: string, functionName: string, call: Call | undefined): void {
    const { idempotencyKey: key, input } = call ?? {};
    this.accepted.push({ executionId, functionName, ...(key !== undefined && { key, input }) });
  }
}

interface Call {
  readonly input: { readonly n: number; readonly workMs: number };
  readonly idempotencyKey?: string;
  readonly delayMs?: number;
}
