import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '@drover/testkit';
import { good, percentile, type FunctionsClient, type Reply } from './executions.js';
import { names, registerAll, withReplicas, type Replica } from './replicas.js';

export interface RollingStory {
  readonly perSecond: number;
  /** Asked after each restart, with their number. */
  readonly isEnough: (restarts: number) => boolean;
}

export interface RollingFigures {
  readonly calls: number;
  readonly retriedAfter503: number;
  readonly failed: readonly Reply[];
  readonly p99Ms: number;
  /** From the signal to the exit. */
  readonly longestEndMs: number;
  readonly repeats: number;
  readonly violations: readonly string[];
  readonly brokenOff: readonly unknown[];
  readonly exits: readonly unknown[];
}

/**
 * Ends and replaces three replicas in turn while functions are called at a steady rate through a router, which asks every 50 ms
 * which replicas are ready. A replica goes on serving for a while after it has reported that it is not.
 */
export async function restartInTurn({ perSecond, isEnough }: RollingStory): Promise<RollingFigures> {
  let figures: RollingFigures | undefined;
  await withReplicas({ DROVER_DRAIN_DELAY_MS: '2000' }, async (set) => {
    const { ledger } = set;
    const serving: Replica[] = [await set.start(), await set.start(), await set.start()];
    const router = new Router(serving);
    const api = set.client(() => router.ready);
    await registerAll(api, ledger);
    for (const name of names)
      for (const replica of serving) await eventually(async () => good(await replica.api.invoke(name, {}), 200));
    const calls = new SyncCalls(api, perSecond);
    try {
      const exits: unknown[] = [];
      let longestEndMs = 0;
      for (let restarts = 0; !isEnough(restarts); restarts += 1) {
        const next = await set.start();
        router.add(next);
        const old = serving.shift();
        if (!old) break;
        serving.push(next);
        const fromMs = performance.now();
        old.child.kill('SIGTERM');
        exits.push(await old.child.exited);
        longestEndMs = Math.max(longestEndMs, Math.round(performance.now() - fromMs));
        router.forget(old);
        const mark = calls.replies.length;
        await eventually(() => calls.replies.length > mark + perSecond);
      }
      await calls.stop();
      figures = {
        calls: calls.replies.length,
        retriedAfter503: calls.retried,
        failed: calls.replies.filter(({ status }) => status !== 200),
        p99Ms: percentile(
          calls.replies.map(({ ms }) => ms),
          0.99,
        ),
        longestEndMs,
        repeats: ledger.repeats,
        violations: ledger.violations,
        brokenOff: set.logged('replica.unreachable').map(({ reason }) => reason),
        exits,
      };
    } finally {
      calls.giveUp();
      await router.stop();
    }
  });
  if (!figures) throw new Error('the story has no end');
  return figures;
}

/** Asks each replica every 50 ms whether it is ready; a slow answer of one does not delay the others. */
class Router {
  readonly #ready = new Set<Replica>();
  readonly #looks = new Map<Replica, Promise<void>>();

  constructor(replicas: readonly Replica[]) {
    for (const replica of replicas) {
      this.#ready.add(replica);
      this.add(replica);
    }
  }

  get ready(): readonly Replica[] {
    return [...this.#ready];
  }

  add(replica: Replica): void {
    const look = async (): Promise<void> => {
      for (; this.#looks.has(replica); await pause(50)) {
        if (await replica.isReady()) this.#ready.add(replica);
        else this.#ready.delete(replica);
      }
      this.#ready.delete(replica);
    };
    this.#looks.set(replica, Promise.resolve().then(look));
  }

  forget(replica: Replica): void {
    this.#looks.delete(replica);
  }

  async stop(): Promise<void> {
    const looks = [...this.#looks.values()];
    this.#looks.clear();
    await Promise.all(looks);
  }
}

/** A machine that cannot keep up with the rate gets fewer calls, not a queue that grows until calls are refused. */
const mostOpenCalls = 50;

/** Calls functions at a steady rate and waits for each answer. Retries only 503 with `Retry-After`. */
class SyncCalls {
  readonly replies: Reply[] = [];
  retried = 0;
  readonly #api: FunctionsClient;
  readonly #open = new Set<Promise<void>>();
  readonly #running: Promise<void>;
  #isOver = false;

  constructor(api: FunctionsClient, perSecond: number) {
    this.#api = api;
    this.#running = this.#run(perSecond);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await Promise.all(this.#open);
  }

  giveUp(): void {
    this.#isOver = true;
  }

  async #run(perSecond: number): Promise<void> {
    const startedMs = performance.now();
    let sent = 0;
    while (!this.#isOver) {
      const due = ((performance.now() - startedMs) / 1_000) * perSecond;
      for (; sent < due && this.#open.size < mostOpenCalls; sent += 1) {
        const call = this.#call(names[sent % names.length] ?? '', sent);
        this.#open.add(call);
        void call.finally(() => this.#open.delete(call));
      }
      await pause(20);
    }
  }

  async #call(name: string, n: number): Promise<void> {
    for (;;) {
      const reply = await this.#api.invoke(name, { n, workMs: n % 20 });
      if (reply.status !== 503 || reply.retryAfter === undefined || this.#isOver) return void this.replies.push(reply);
      this.retried += 1;
      await pause(Number(reply.retryAfter) * 1_000);
    }
  }
}
