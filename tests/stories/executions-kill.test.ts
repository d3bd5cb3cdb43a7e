import { eventually, isAlive } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { killAgainAndAgain, registerPools } from '../support/execution-kills.js';
import { ExecutionLoad } from '../support/execution-load.js';
import { innocent, judge } from '../support/execution-verdict.js';
import { FunctionsClient, killRole, percentile, report, seeded, startsOf, type Reply } from '../support/executions.js';
import { allowsLoopback, childrenOf, startPlatform, withDataDirectory } from '../support/platform.js';
import { RunLedger, type Fault } from '../support/run-ledger.js';

describe('executions under kill -9', () => {
  it('of the platform, again and again: whatever was accepted ends, and nothing runs twice at once', () =>
    withDataDirectory(async (dataDirectory, started) => {
      const { verdict, notFound, mostAtOnce, ...figures } = await killAgainAndAgain({
        dataDirectory,
        started,
        kills: 5,
        executions: 1_000,
        perSecond: 100,
        aliveMs: 0,
        seed: 5,
        withinMs: 45_000,
      });
      report('platform killed', figures);
      expect(verdict).toEqual(innocent);
      expect(notFound).toEqual([]);
      expect(figures.looks).toBeGreaterThanOrEqual(50);
      expect(figures.keyed).toBeGreaterThan(100);
      expect(mostAtOnce).toBe(1);
    }));

  it('of PostgreSQL, or while it is frozen: calls are refused, and nothing that was accepted is lost', () =>
    withDataDirectory(async (dataDirectory, started) => {
      const ledger = await RunLedger.open();
      let load: ExecutionLoad | undefined;
      try {
        const { up, ready } = await startPlatform(dataDirectory, { env: allowsLoopback });
        started(up);
        const api = await FunctionsClient.of(ready);
        await registerPools(api, ledger);
        const replies: Reply[] = [];
        const { accepted, statuses } = (load = new ExecutionLoad({
          api,
          functions: ['many', 'one'],
          perSecond: 60,
          chance: seeded(8),
          onReply: (reply) => void replies.push(reply),
        }));
        const faults: Fault[] = [];
        // Resolves once 60 more calls have been accepted; the replies tell what the outage was like.
        const recovered = async (fromMs: number): Promise<number> => {
          const mark = accepted.length;
          const beganMs = Date.now();
          await eventually(() => accepted.length > mark);
          const recoveredMs = Date.now() - beganMs;
          await eventually(() => accepted.length > mark + 60);
          faults.push({ fromMs, toMs: Date.now() });
          return recoveredMs;
        };
        await eventually(() => accepted.length > 60);

        const frozenMs = Date.now();
        const postgres = ready.pids.postgres ?? Number.NaN;
        // The postmaster first: it must not start processes that the list would miss.
        process.kill(postgres, 'SIGSTOP');
        const frozen = [postgres, ...childrenOf(postgres)];
        for (const pid of frozen) process.kill(pid, 'SIGSTOP');
        try {
          const mark = replies.length;
          await eventually(() => replies.slice(mark).some(({ status }) => status === 503));
        } finally {
          for (const pid of frozen) process.kill(pid, 'SIGCONT');
        }
        const thawedMs = await recovered(frozenMs);

        // Back within the time that calls wait to be stored, it makes none of them fail.
        const killedMs = Date.now();
        process.kill(postgres, 'SIGKILL');
        await eventually(() => !isAlive(postgres));
        const revivedMs = await recovered(killedMs);
        expect(startsOf(up, 'platform').map(({ pid }) => pid)).toEqual([ready.pids.platform]);
        expect(isAlive(ready.pids.platform)).toBe(true);
        expect(statuses.get(0) ?? 0).toBe(0); // it answered all the time

        // A statement may have been executed though its answer was lost: the restart must not bring its effect to light.
        const kill = killRole(up, 'platform');
        faults.push({ fromMs: kill.killedMs, toMs: (await kill.next()).readyMs });
        await load.stop();
        const verdict = await judge({ api, accepted, ledger, faults, withinMs: 45_000 });
        const refusals = replies.filter(({ status }) => status === 503);
        const refusalMs = refusals.map(({ ms }) => ms);
        report('database away', {
          statuses: Object.fromEntries(statuses),
          refusalMs: { p50: percentile(refusalMs, 0.5), max: Math.max(...refusalMs) },
          thawedMs,
          revivedMs,
          repeats: ledger.repeats,
        });
        expect(verdict).toEqual(innocent);
        expect(refusals.filter(({ retryAfter }) => retryAfter === undefined)).toEqual([]);
        expect([...statuses.keys()].filter((status) => ![0, 202, 503].includes(status))).toEqual([]);
      } finally {
        load?.giveUp();
        await ledger.close();
      }
    }));
});
