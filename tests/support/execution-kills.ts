import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually, type Child } from '@drover/testkit';
import { ExecutionLoad, type AcceptedCall } from './execution-load.js';
import { judge, type Verdict } from './execution-verdict.js';
import { FunctionsClient, killRole, percentile, seeded, startsOf } from './executions.js';
import { LocalLedger } from './local-ledger.js';
import { allowsLoopback, startPlatform } from './platform.js';
import { RunLedger, type Fault } from './run-ledger.js';

export interface KillStory {
  readonly dataDirectory: string;
  readonly started: (child: Child) => Child;
  readonly kills: number;
  /** As many executions at least, not counting those that make sure that something is left at every kill. */
  readonly executions: number;
  readonly perSecond: number;
  /** How long each process serves before it is killed, at least. */
  readonly aliveMs: number;
  readonly seed: number;
  /** For everything to end after the last kill. */
  readonly withinMs: number;
  readonly say?: (line: string) => void;
}

export interface KillFigures {
  readonly verdict: Verdict;
  /** Of executions that were looked at on the way, 404 each. */
  readonly notFound: readonly string[];
  readonly looks: number;
  readonly accepted: number;
  readonly keyed: number;
  readonly repeats: { readonly pool: number; readonly local: number };
  readonly statuses: Readonly<Record<string, number>>;
  readonly mostAtOnce: number;
  /** From the ready report of each new process until the first run of what the last one left. */
  readonly drainMs: readonly number[];
  /** From each kill until the next process is ready. */
  readonly restartMs: readonly number[];
  readonly acceptMs: { readonly p50: number; readonly p99: number };
}

const left = 24;
/** Of accepted executions on the way: the load goes on until there were as many, so that a slow machine proves the same. */
const leastLooks = 50;

/** Kills the platform again and again while executions come in, and tells what became of them. */
export async function killAgainAndAgain(story: KillStory): Promise<KillFigures> {
  const {
    dataDirectory,
    started,
    kills,
    executions,
    perSecond,
    aliveMs,
    seed,
    withinMs,
    say = () => undefined,
  } = story;
  const chance = seeded(seed);
  const ledger = await RunLedger.open();
  let load: ExecutionLoad | undefined;
  let watch: AcceptedWatch | undefined;
  try {
    const local = await LocalLedger.open(path.join(path.dirname(dataDirectory), 'handlers'));
    const env = {
      ...allowsLoopback,
      DROVER_HANDLERS_DIR: local.directory,
      DROVER_FUNCTIONS_USER: 'root', // handlers write down what they did, in a folder of this user
      EXECUTION_TTL_MS: '7200000',
    };
    const { up, ready } = await startPlatform(dataDirectory, { env });
    started(up);
    const api = await FunctionsClient.of(ready);
    await registerPools(api, ledger);
    await api.register({ ...common, name: 'ledger', concurrency: 2, executionMode: 'LOCAL' });
    const { accepted: ofLoad } = (load = new ExecutionLoad({
      api,
      functions: ['many', 'one', 'ledger'],
      perSecond,
      chance,
    }));
    watch = new AcceptedWatch(api, ofLoad, chance);
    const ofBacklog: string[] = [];
    const faults: Fault[] = [];
    const drainMs: number[] = [];
    const restartMs: number[] = [];
    let aliveSinceMs = startsOf(up, 'platform').at(-1)?.readyMs ?? 0;
    while (faults.length < kills) {
      const mark = ofLoad.length + 20 + Math.floor(chance() * perSecond);
      const sinceMs = aliveSinceMs;
      await eventually(() => ofLoad.length >= mark && Date.now() - sinceMs >= aliveMs);
      const items = Array.from({ length: left }, () => ({ input: { workMs: 100 } }));
      ofBacklog.push(...(await api.acceptedBatch('backlog', items)));
      await pause(Math.floor(chance() * 150)); // anywhere in the life of what is under way
      const { killedMs, next } = killRole(up, 'platform');
      const { readyMs } = await next();
      const first = await eventually(() => ledger.firstSince(killedMs, 'backlog'));
      faults.push({ fromMs: killedMs, toMs: readyMs });
      aliveSinceMs = readyMs;
      restartMs.push(readyMs - killedMs);
      drainMs.push(Math.max(0, first.startedMs - readyMs));
      say(
        `kill ${faults.length}: ready after ${restartMs.at(-1)} ms, draining ${drainMs.at(-1)} ms later, ${ofLoad.length} accepted`,
      );
    }
    const looking = watch;
    await eventually(() => ofLoad.length >= executions && looking.looks >= leastLooks, withinMs);
    await load.stop();
    await watch.stop();
    const accepted = [...ofLoad, ...ofBacklog.map((executionId) => ({ executionId, functionName: 'backlog' }))];
    const verdict = await judge({ api, accepted, ledger, local, faults, withinMs });
    const began = [...local.read().began.values()];
    return {
      verdict,
      notFound: watch.notFound,
      looks: watch.looks,
      accepted: accepted.length,
      keyed: load.keyed.length,
      repeats: { pool: ledger.repeats, local: began.reduce((sum, times) => sum + times - 1, 0) },
      statuses: Object.fromEntries(load.statuses),
      mostAtOnce: ledger.mostAtOnce('one'),
      drainMs,
      restartMs,
      acceptMs: { p50: percentile(load.acceptMs, 0.5), p99: percentile(load.acceptMs, 0.99) },
    };
  } finally {
    load?.giveUp();
    await watch?.stop();
    await ledger.close();
  }
}

const common = { queueSize: 100_000, timeoutMs: 20_000 };

/** Functions of the endpoint: one that runs many at once, one that runs one, and one that has always something left. */
export async function registerPools(api: FunctionsClient, ledger: RunLedger): Promise<void> {
  for (const [name, concurrency] of Object.entries({ many: 8, one: 1, backlog: 4 }))
    await api.register({ ...common, name, concurrency, executionMode: 'POOL', endpointUrl: ledger.url(name) });
}

/** Looks at accepted executions all the time: none of them may be unknown, whatever else is going on. */
class AcceptedWatch {
  readonly notFound: string[] = [];
  looks = 0;
  readonly #watching: Promise<void>;
  #isOver = false;

  constructor(api: FunctionsClient, accepted: readonly AcceptedCall[], chance: () => number) {
    this.#watching = this.#watch(api, accepted, chance);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#watching;
  }

  async #watch(api: FunctionsClient, accepted: readonly AcceptedCall[], chance: () => number): Promise<void> {
    while (!this.#isOver) {
      const one = accepted[Math.floor(chance() * accepted.length)];
      const reply = one && (await api.request('GET', `/v1/executions/${one.executionId}`, { timeoutMs: 5_000 }));
      if (reply?.status === 404) this.notFound.push(one?.executionId ?? '');
      if (reply?.status === 200) this.looks += 1;
      await pause(reply?.status === 200 ? 5 : 50);
    }
  }
}
