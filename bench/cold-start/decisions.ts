import { decideFleet, defaultScalePolicy, type FleetMember, type ScaleInput } from '@drover/scale-controller';
import { ownCpuMs } from '../harness/process-facts.js';
import type { Contender } from '../harness/rounds.js';
import { median } from '../harness/statistics.js';

/** Triggers, each of an application of its own, which is the most work for a trigger. */
export const decidedTriggers = [100, 1_000, 10_000] as const;

/** Share of applications with events; the last size is measured once more with all of them busy. */
const usualShare = 0.1;
const tenants = 50;
const passes = 15;

/**
 * CPU time of a pass of decisions over so many triggers, a second apart. The first passes, in which the code is compiled, count as well:
 * medians forgive them.
 */
export function decisionsContender(): Contender<number[]> {
  return {
    name: 'decisions',
    run: async () => {
      const usual = decidedTriggers.map((triggers) => passMs(triggers, usualShare));
      return await Promise.resolve([...usual, passMs(decidedTriggers[2], 1)]);
    },
  };
}

function passMs(triggers: number, busyShare: number): number {
  const limits = { maxWorkers: triggers * 10, tenants: new Map() };
  let nowMs = Date.UTC(2026, 10, 2);
  // Samples come over the link, between two passes: their garbage is no part of a decision.
  const sampled = Array.from({ length: triggers }, (_, index) => sampleOf(index < triggers * busyShare));
  let members = sampled.map((sample, index) => memberOf(index, inputOf(nowMs, sample, 0)));
  const samples: number[] = [];
  for (let pass = 0; pass < passes; pass += 1) {
    nowMs += 1_000;
    members = members.map((member, index) => ({
      ...member,
      input: inputOf(nowMs, sampled[index], member.state?.desired ?? 0),
    }));
    const before = ownCpuMs();
    const outcomes = decideFleet(members, limits);
    samples.push(ownCpuMs() - before);
    members = members.map((member, index) => ({ ...member, state: outcomes[index]?.state }));
  }
  return median(samples);
}

function memberOf(index: number, input: ScaleInput): FleetMember {
  const tenantId = `tenant-${index % tenants}`;
  return { application: `${tenantId}/app-${index}`, tenantId, state: undefined, input, policy: defaultScalePolicy };
}

function inputOf(nowMs: number, sample: ScaleInput['sample'], ready: number): ScaleInput {
  const workers = { ready, starting: 0, draining: 0 };
  const unknown = { cores: undefined, cpuDemand: undefined };
  return { nowMs, sampleAtMs: nowMs, startMs: 200, runtimeMemory: 0.3, wakes: [], workers, sample, ...unknown };
}

function sampleOf(isBusy: boolean): ScaleInput['sample'] {
  const waiting = isBusy ? 5 : 0;
  return {
    application: 'any',
    inFlight: isBusy ? 3 : 0,
    waiting: 0,
    capacity: 100,
    readyWorkers: 1,
    arrivals: isBusy ? 20 : 0,
    completions: isBusy ? 20 : 0,
    failures: 0,
    meanServiceMs: isBusy ? 50 : undefined,
    p95ServiceMs: isBusy ? 60 : undefined,
    versions: {},
    cpu: isBusy ? 0.3 : undefined,
    memory: 0.2,
    isBackpressured: false,
    triggers: [
      { functionName: 'orders', type: 'queueTrigger', waiting, oldestAgeMs: 50, arrivalsPerSecond: 4 * waiting },
    ],
  };
}
