import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '@drover/testkit';
import { ExecutionLoad } from '../support/execution-load.js';
import { judge, type Verdict } from '../support/execution-verdict.js';
import { forEach, percentile, seeded } from '../support/executions.js';
import { names, registerAll, withReplicas, type Replica, type ReplicaSet } from '../support/replicas.js';
import type { Fault } from '../support/run-ledger.js';

export interface ReplicaStory {
  readonly faults: number;
  readonly perSecond: number;
  readonly seed: number;
  readonly say: (line: string) => void;
}

export interface ReplicaFigures {
  readonly verdict: Verdict;
  readonly accepted: number;
  readonly repeats: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly acceptMs: { readonly p50: number; readonly p99: number };
  readonly takeOverMs: Readonly<Record<Kind, number>>;
}

type Kind = 'killed' | 'ended' | 'frozen';

const ttlMs = 2_000;

/** Three replicas over one database; one at a time is killed, ended or frozen, and comes back, while executions come in. */
export async function replicasUnderFire({
  faults: count,
  perSecond,
  seed,
  say,
}: ReplicaStory): Promise<ReplicaFigures> {
  const chance = seeded(seed);
  let figures: ReplicaFigures | undefined;
  await withReplicas({ DROVER_HOME_TTL_MS: String(ttlMs), EXECUTION_TTL_MS: '7200000' }, async (set) => {
    const { ledger } = set;
    let serving: readonly Replica[] = [await set.start(), await set.start(), await set.start()];
    let reachable = serving;
    const api = set.client(() => reachable);
    await registerAll(api, ledger, 1);
    const load = new ExecutionLoad({ api, functions: names, perSecond, chance });
    try {
      const faults: Fault[] = [];
      const takeOverMs: Record<Kind, number> = { killed: 0, ended: 0, frozen: 0 };
      while (faults.length < count) {
        const mark = load.accepted.length + Math.floor(chance() * perSecond * 2);
        await eventually(() => load.accepted.length > mark);
        const victim = serving[Math.floor(chance() * serving.length)];
        if (!victim) continue;
        const others = serving.filter((replica) => replica !== victim);
        const kind = (['killed', 'ended', 'frozen'] as const)[Math.floor(chance() * 3)] ?? 'killed';
        const fromMs = Date.now();
        reachable = others;
        victim.child.kill(({ killed: 'SIGKILL', ended: 'SIGTERM', frozen: 'SIGSTOP' } as const)[kind]);
        await forEach(names, names.length, async (name) => {
          await eventually(() => others[0]?.api.accepted(name, {}));
        });
        const tookMs = Date.now() - fromMs;
        takeOverMs[kind] = Math.max(takeOverMs[kind], tookMs);
        serving = [...others, await successor(set, victim, kind)];
        reachable = serving;
        faults.push({ fromMs, toMs: Date.now() });
        say(`fault ${faults.length}: one ${kind}, taken over after ${tookMs} ms, ${load.accepted.length} accepted`);
      }
      await load.stop();
      const verdict = await judge({ api, accepted: load.accepted, ledger, faults, withinMs: 120_000 });
      for (const name of names) {
        const atOnce = ledger.mostAtOnce(name);
        if (atOnce > 1) verdict.violations.push(`${name} may run once at a time, and ran ${atOnce} times`);
      }
      figures = {
        verdict,
        accepted: load.accepted.length,
        repeats: ledger.repeats,
        statuses: Object.fromEntries(load.statuses),
        acceptMs: { p50: percentile(load.acceptMs, 0.5), p99: percentile(load.acceptMs, 0.99) },
        takeOverMs,
      };
    } finally {
      load.giveUp();
    }
  });
  if (!figures) throw new Error('the story has no end');
  return figures;
}

/** Returns the replica that serves in place of the victim: the same one once it is thawed, otherwise a new one. */
async function successor(set: ReplicaSet, victim: Replica, kind: Kind): Promise<Replica> {
  if (kind !== 'frozen') {
    await victim.child.exited;
    return set.start();
  }
  await pause(ttlMs); // long enough to have lost everything
  victim.child.kill('SIGCONT');
  await eventually(() => victim.isReady());
  return victim;
}
