import type { ApplicationSample, RuntimeMessage } from '@drover/scale-link';
import { decideFleet } from '../decisions/decide-fleet.js';
import type { FleetLimits, FleetMember } from '../decisions/fleet-types.js';
import { mergeSamples } from '../decisions/merge-samples.js';
import { initialScaleState } from '../decisions/state.js';
import type { ScaleDecision, ScalePolicy, ScaleState, WakeKind, WorkerCounts } from '../decisions/types.js';
import { RecentDurations } from './durations.js';
import type { WorkerUsage } from './usage-of-workers.js';

/** An application that is decided about. */
export interface DecidedApplication {
  /** `tenant/application`. */
  readonly application: string;
  readonly tenantId: string;
  readonly policy: ScalePolicy;
  readonly workers: WorkerCounts;
  /** Runtime that hosts it. */
  readonly runtimeId: string | undefined;
  /** What its workers use, as far as the provider knows; what the runtime measured takes precedence. */
  readonly usage: WorkerUsage | undefined;
  /** Of the machine that its workers share; undefined: not known. */
  readonly cores: number | undefined;
}

export interface DecidedNumber {
  readonly application: string;
  readonly decision: ScaleDecision;
  readonly policy: ScalePolicy;
}

/** Runtimes send a sample each second. */
const freshMs = 2_000;

interface ReceivedSample {
  readonly sample: ApplicationSample;
  readonly atMs: number;
}

/** What decisions need beside the catalog: samples, wakes and the state of each application. No clock, no IO. */
export class ScaleDecisions {
  readonly #limits: FleetLimits;
  readonly #states = new Map<string, ScaleState>();
  /** By application and runtime. */
  readonly #samples = new Map<string, Map<string, ReceivedSample>>();
  readonly #runtimeMemory = new Map<string, number>();
  readonly #wakes = new Map<string, WakeKind[]>();
  readonly #startMs = new RecentDurations(1_000);

  constructor(limits: FleetLimits) {
    this.#limits = limits;
  }

  /** Goes on from the number that the leader before stored. */
  adopt(application: string, desired: number, nowMs: number): void {
    this.#states.set(application, initialScaleState(desired, nowMs));
  }

  isKnown(application: string): boolean {
    return this.#states.has(application);
  }

  desired(application: string): number {
    return this.#states.get(application)?.desired ?? 0;
  }

  forget(application: string): void {
    this.#states.delete(application);
    this.#samples.delete(application);
    this.#wakes.delete(application);
  }

  sampled(runtimeId: string, message: Extract<RuntimeMessage, { readonly kind: 'sample' }>, nowMs: number): void {
    this.#runtimeMemory.set(runtimeId, message.memory);
    for (const sample of message.applications) {
      const known = this.#samples.get(sample.application) ?? new Map<string, ReceivedSample>();
      known.set(runtimeId, { sample, atMs: nowMs });
      this.#samples.set(sample.application, known);
    }
  }

  /** What a runtime that is away said last stays known until it is stale: unknown is not zero. */
  detached(runtimeId: string): void {
    this.#runtimeMemory.delete(runtimeId);
  }

  /** Whether an application had calls in its last sample, and that is fresh. */
  isAnyBusy(nowMs: number): boolean {
    for (const samples of this.#samples.values())
      for (const { sample, atMs } of samples.values())
        if (nowMs - atMs < freshMs && sample.inFlight + sample.waiting > 0) return true;
    return false;
  }

  woken(application: string, kind: WakeKind): void {
    this.#wakes.set(application, [...(this.#wakes.get(application) ?? []), kind].slice(-8));
  }

  /** A worker was ready this long after it was asked for. */
  started(durationMs: number): void {
    this.#startMs.add(durationMs);
  }

  decide(applications: readonly DecidedApplication[], nowMs: number): readonly DecidedNumber[] {
    const startMs = this.#startMs.p95();
    const members = applications.map((application) => this.#member(application, nowMs, startMs));
    const outcomes = decideFleet(members, this.#limits);
    return applications.flatMap(({ application, policy }, index) => {
      const outcome = outcomes[index];
      if (!outcome) return [];
      this.#states.set(application, outcome.state);
      return [{ application, decision: outcome.decision, policy }];
    });
  }

  #member(of: DecidedApplication, nowMs: number, startMs: number): FleetMember {
    const { application, tenantId, policy, workers, runtimeId, usage, cores } = of;
    const samples = this.#samples.get(application);
    const wakes = this.#wakes.get(application) ?? [];
    this.#wakes.delete(application);
    const fresh = [...(samples?.values() ?? [])].filter(({ atMs }) => nowMs - atMs <= policy.staleAfterMs);
    const received = fresh.length > 0 ? fresh : [...(samples?.values() ?? [])];
    const runtimeMemory = runtimeId === undefined ? undefined : this.#runtimeMemory.get(runtimeId);
    const merged = mergeSamples(received.map((each) => each.sample));
    const { cpu = usage?.cpu, memory = usage?.memory } = merged ?? {};
    const sample = merged && { ...merged, cpu, memory };
    const sampleAtMs = Math.max(0, ...received.map(({ atMs }) => atMs));
    const cpuDemand = usage?.cpuDemand;
    const input = { nowMs, sample, sampleAtMs, workers, wakes, startMs, runtimeMemory, cores, cpuDemand };
    return { application, tenantId, state: this.#states.get(application), input, policy };
  }
}
