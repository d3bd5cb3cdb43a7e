import { decide } from '../../decisions/decide.js';
import { policyOf } from '../../decisions/policy.js';
import { initialScaleState } from '../../decisions/state.js';
import type { ScaleInput, WakeKind } from '../../decisions/types.js';
import type { TraceScaler, TraceView } from './trace-simulator.js';

/** The decisions of Drover, fed with samples as a runtime would send them. */
export function droverScaler(maxWorkers: number, isPredictive = true): TraceScaler {
  const policy = policyOf({ maxWorkers, isPredictive });
  let state: ReturnType<typeof initialScaleState> | undefined;
  const next = (view: TraceView, wakes: readonly WakeKind[]): number => {
    state ??= initialScaleState(0, view.nowMs);
    const outcome = decide(state, inputOfView(view, wakes), policy);
    ({ state } = outcome);
    return state.desired;
  };
  return { tick: (view) => next(view, []), wake: (view) => next(view, ['event']) };
}

function inputOfView(view: TraceView, wakes: readonly WakeKind[]): ScaleInput {
  const { trace, waiting, ready, arrivals, completions, inFlight, nowMs, oldestWaitMs } = view;
  const isWoken = wakes.length > 0;
  const sample = {
    application: 'default/traced',
    inFlight,
    waiting: trace.isQueue ? 0 : waiting,
    capacity: ready * trace.concurrency,
    readyWorkers: ready,
    arrivals,
    completions,
    failures: 0,
    meanServiceMs: completions > 0 ? trace.serviceMs : undefined,
    p95ServiceMs: completions > 0 ? trace.serviceMs : undefined,
    versions: {},
    cpu: undefined,
    memory: undefined,
    isBackpressured: ready > 0 && waiting > 0 && inFlight >= ready * trace.concurrency,
    triggers: trace.isQueue
      ? [
          {
            functionName: 'orders',
            type: 'queueTrigger',
            waiting,
            oldestAgeMs: oldestWaitMs,
            arrivalsPerSecond: arrivals,
            targetPerWorker: trace.concurrency,
          },
        ]
      : [],
  };
  return {
    nowMs,
    // The event that wakes an application comes alone: the sample of its second follows.
    sample: isWoken ? undefined : sample,
    sampleAtMs: nowMs,
    workers: { ready, starting: view.starting, draining: 0 },
    wakes,
    startMs: trace.startMs,
    runtimeMemory: undefined,
    cores: undefined,
    cpuDemand: undefined,
  };
}
