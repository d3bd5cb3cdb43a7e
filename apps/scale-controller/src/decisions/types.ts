import type { ApplicationSample } from '@drover/scale-link';

/** Function workers of one application, over all runtimes. Placeholders and isolated workers are not among them. */
export interface WorkerCounts {
  readonly ready: number;
  /** Asked for and not ready yet: started, connecting or specializing. They count as capacity that is on its way. */
  readonly starting: number;
  /** They finish what they run and count for nothing else. */
  readonly draining: number;
}

/**
 * What was asked for outside of the samples, since the decision before:
 * - event: a runtime holds an event of an application that has no worker
 * - deployed: a new version, a promotion or a start of the platform, which count as activity
 * - replace: a worker was lost or abandoned; the number stays, placement starts another one
 */
export type WakeKind = 'event' | 'deployed' | 'replace';

/** Everything that a decision about one application may depend on, beside its state and its policy. */
export interface ScaleInput {
  readonly nowMs: number;
  /** The newest sample, merged over runtimes with `mergeSamples`; undefined: there has been none. */
  readonly sample: ApplicationSample | undefined;
  /** When the sample arrived, by the clock of `nowMs`. Older than `staleAfterMs` it counts as unknown. */
  readonly sampleAtMs: number;
  readonly workers: WorkerCounts;
  readonly wakes: readonly WakeKind[];
  /** Measured time from decision to ready worker, 95th percentile. */
  readonly startMs: number;
  /** Largest share of its memory limit that a runtime of the application uses; undefined: not known. */
  readonly runtimeMemory: number | undefined;
  /** Cores of the machine that its workers share; undefined: not known, or each worker has its own. */
  readonly cores: number | undefined;
  /** Share of the time in which a worker computes or waits for a core, mean; undefined: not known. More than its CPU on a crowded machine. */
  readonly cpuDemand: number | undefined;
}

/** Limit of growth or shrinkage: at most `max(base × factor, base + add)` within `periodMs`, where `base` is the extreme of that period. */
export interface SlewLimit {
  readonly factor: number;
  readonly add: number;
  readonly periodMs: number;
}

/** Settings of decisions about one application; every number is in the tables of docs/scaling.md. */
export interface ScalePolicy {
  readonly minWorkers: number;
  readonly maxWorkers: number;
  /** Idle time after which the last worker ends. */
  readonly idleMs: number;
  /** Whether workers are started ahead of the usual demand. */
  readonly isPredictive: boolean;
  /** Share of capacity that is planned: the rest takes the noise. */
  readonly plannedUtilization: number;
  /** Concurrent invocations of one worker, until it is measured. */
  readonly concurrencyPerWorker: number;
  /** Time in which a backlog of a source is to be worked off. */
  readonly drainBacklogMs: number;
  /** Time in which calls that wait in a runtime are to be taken. */
  readonly drainWaitingMs: number;
  readonly ageLimitMs: number;
  readonly stableWindowMs: number;
  readonly panicWindowMs: number;
  /** Panic begins when the panic window wants this many times the workers that are ready. */
  readonly panicRatio: number;
  readonly tolerance: number;
  /** A reduction takes the highest proposal of this long. */
  readonly downStabilizationMs: number;
  readonly slewUp: SlewLimit;
  /** In panic. */
  readonly slewPanic: SlewLimit;
  readonly slewDown: SlewLimit;
  readonly staleAfterMs: number;
  /** Growth that brought less than this share of additional completions stops further growth. */
  readonly leastGain: number;
  /** How long growth stays stopped. */
  readonly plateauMs: number;
}

/** The rules that propose a number of workers; see `scalingRules`. */
export type RuleId =
  | 'depth'
  | 'age'
  | 'cpu'
  | 'memory'
  | 'rate'
  | 'utilization'
  | 'backpressure'
  | 'replacement'
  | 'deployment'
  | 'demand'
  | 'target'
  | 'forecast'
  | 'prewarm';

/** - up, down: the condition of the rule for that direction holds; keep: neither does, and with fewer than `workers` the one for up would */
export type Vote = 'up' | 'down' | 'keep';

/** What one rule wants. */
export interface ScaleProposal {
  readonly rule: RuleId;
  readonly vote: Vote;
  /** Before rounding: 3.2 workers. */
  readonly needed: number;
  readonly workers: number;
  /** How many of them will still be wanted when what waits now is worked off. */
  readonly lasting: number;
}

/** What changed the number after the rules, in the order in which they apply. */
export type ClampId =
  | 'unknown'
  | 'tolerance'
  | 'stabilization'
  | 'panic'
  | 'plateau'
  | 'useful'
  | 'calls'
  | 'cores'
  | 'runtime-memory'
  | 'slew-up'
  | 'slew-down'
  | 'min'
  | 'max'
  | 'tenant-share';

export interface ScaleClamp {
  readonly clamp: ClampId;
  readonly from: number;
  readonly to: number;
}

/** What a decision was made of: numbers only, complete enough to make it again with `conclude`. */
export interface ScaleFacts {
  readonly nowMs: number;
  readonly ready: number;
  readonly starting: number;
  readonly draining: number;
  /** Decided before. */
  readonly desired: number;
  readonly startMs: number;
  readonly wakes: readonly WakeKind[];
  /** There is no sample, or it is too old: what it would say is 0 here. */
  readonly isStale: boolean;
  /** Why a trigger could not be measured. */
  readonly problem: string | undefined;
  /** Concurrent invocations that one worker takes without becoming slower. */
  readonly concurrency: number;
  readonly inFlight: number;
  /** In runtimes. */
  readonly waiting: number;
  /** In trigger sources. */
  readonly backlog: number;
  /** Most calls that could run at the same time, within the panic window: in flight, waiting and in sources. */
  readonly calls: number;
  /** Backlog over what one worker is expected to take of each source, summed. */
  readonly targetLoad: number;
  readonly oldestAgeMs: number;
  readonly arrivalsPerSecond: number;
  readonly completionsPerSecond: number;
  /** Undefined until an invocation completed. */
  readonly serviceMs: number | undefined;
  /** Concurrent invocations, without what waits: mean of the stable and of the panic window. */
  readonly stableLoad: number;
  readonly panicLoad: number;
  /** What of it is there to stay: arrivals of about a minute × service time. Work on a backlog is not part of it. */
  readonly lastingLoad: number;
  readonly cpu: number | undefined;
  /** Share of a core that a worker needs when it has work; 1 while workers compute and it is not measured yet; undefined: not known. */
  readonly busyCpu: number | undefined;
  readonly cores: number | undefined;
  readonly memory: number | undefined;
  readonly runtimeMemory: number | undefined;
  readonly isBackpressured: boolean;
  /** Bound over all triggers; undefined: some trigger has none. */
  readonly maxUsefulWorkers: number | undefined;
  readonly idleForMs: number;
  /** How long the utilization has been under its lower threshold. */
  readonly lowForMs: number;
  /** Keep-alive that the idle times of the past ask for; 0: the policy's. */
  readonly keepAliveMs: number;
  /** Expected arrivals per second when a worker that is asked for now is ready; undefined: no forecast that is worth using. */
  readonly forecast: number | undefined;
  /** Share of the past days that agree with the forecast. */
  readonly confidence: number;
  /** A worker is kept ready until then, because the idle times or the pattern of the week expect an event. */
  readonly warmUntilMs: number;
  /** How long all workers that were asked for have had time to show an effect; 0 while some are missing. */
  readonly settledForMs: number;
  readonly panicUntilMs: number;
  /** Highest number in this panic. */
  readonly panicWorkers: number;
  /** Growth above this number brought nothing; 0: no such finding. */
  readonly plateauWorkers: number;
  /** Highest lasting proposal of the stabilization window, or highest proposal of the last stable window if that is more. */
  readonly stabilizedWorkers: number;
  /** Lowest and highest number decided within the periods of the slew limits. */
  readonly lowestRecent: number;
  readonly lowestPanicRecent: number;
  readonly highestRecent: number;
  readonly isRuntimeMemoryCritical: boolean;
}

/** How many workers an application shall have, and why. What each rule proposed follows from the facts: see `conclude`. */
export interface ScaleDecision {
  readonly desired: number;
  readonly previous: number;
  /** The rule or the clamp that set the number. */
  readonly cause: RuleId | ClampId | 'steady';
  readonly isPanic: boolean;
  /** The change is the opposite of the one before, and that was less than a stabilization window ago. */
  readonly isOscillation: boolean;
  readonly clamps: readonly ScaleClamp[];
  readonly facts: ScaleFacts;
}

/** A decision and the state that the next one starts from. */
export interface ScaleOutcome {
  readonly state: ScaleState;
  readonly decision: ScaleDecision;
}

/** The number of workers at some moment, for the slew limits. */
export interface DesiredChange {
  readonly atMs: number;
  readonly desired: number;
}

/**
 * What decisions about one application remember. Plain data, replaced as a whole by each decision. At zero the windows are empty; what
 * stays is about thirty numbers, and the pattern of the week once it has been seen.
 */
export interface ScaleState {
  readonly desired: number;
  readonly decidedAtMs: number;
  readonly sampleAtMs: number;
  /** Last moment with an event, an invocation or a wake. */
  readonly activeAtMs: number;
  /** Since when the utilization is under its lower threshold; undefined: it is not. */
  readonly lowSinceMs: number | undefined;
  /** One entry for each second of the stable window, newest last. */
  readonly loads: readonly number[];
  /** Calls that could run, one entry for each second of the panic window, newest last. */
  readonly calls: readonly number[];
  /** Since when workers compute, so that calls wait for their event loops; undefined: they do not. */
  readonly computingSinceMs: number | undefined;
  /** Share of a core that a worker needs when it has work: follows the highest one, and falls slowly. */
  readonly busyCpu: number | undefined;
  /** Highest lasting proposal of each tenth of the stabilization window, newest last; `proposalsAtMs` is when the newest began. */
  readonly proposals: readonly number[];
  readonly proposalsAtMs: number;
  /** What the rules wanted to work off a backlog, kept for a stable window. */
  readonly catchUpWorkers: number;
  readonly catchUpUntilMs: number;
  /** Changes within the longest slew period, oldest first, and one before them. */
  readonly changes: readonly DesiredChange[];
  readonly serviceMs: number | undefined;
  /** Service time without congestion: follows the lowest one, and rises slowly. */
  readonly bestServiceMs: number | undefined;
  readonly concurrency: number | undefined;
  /** Arrivals per second: exponential means over about 6 and 30 seconds, and over a minute, which begins with 0 so that a spike is no trend. */
  readonly fastArrivals: number;
  readonly slowArrivals: number;
  readonly lastingArrivals: number;
  readonly completions: number;
  readonly panicUntilMs: number;
  readonly panicWorkers: number;
  readonly warmUntilMs: number;
  /** When an application at zero has to be looked at again without an event. */
  readonly lookAgainAtMs: number;
  readonly growth: GrowthTrial | undefined;
  readonly plateau: { readonly workers: number; readonly untilMs: number } | undefined;
  readonly isRuntimeMemoryCritical: boolean;
  readonly lastChange: { readonly atMs: number; readonly direction: 'up' | 'down' } | undefined;
  readonly slope: SlopeForecast;
  readonly pattern: WeekPattern | undefined;
  /** The last idle times between events in seconds, newest last. */
  readonly idleTimes: readonly number[];
}

/** Workers were added: whether that brought more completions is known at `judgeAtMs`. */
export interface GrowthTrial {
  readonly fromWorkers: number;
  readonly toWorkers: number;
  readonly completionsBefore: number;
  readonly judgeAtMs: number;
}

/** A forecast by recent slope, and how well such forecasts did compared with "as now". */
export interface SlopeForecast {
  readonly forMs: number;
  readonly predicted: number;
  readonly lastValue: number;
  readonly error: number;
  readonly lastValueError: number;
}

/** Arrivals by hour of the week; see `week-pattern.ts`. Kept from the first event on. */
export interface WeekPattern {
  /** Events per second by hour of the week, -1: never seen; UTC, Thursday 00:00 first. */
  readonly rates: readonly number[];
  /** The hour that is being counted, since the epoch, and its events so far. */
  readonly hour: number;
  readonly events: number;
  readonly previousRate: number;
  readonly error: number;
  readonly lastValueError: number;
  /** Hour in which workers were started ahead: once is enough. */
  readonly prewarmedHour: number;
}
