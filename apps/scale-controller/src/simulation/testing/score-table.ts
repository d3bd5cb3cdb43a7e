import { droverScaler } from './drover-scaler.js';
import { hpaScaler, kedaScaler, kpaScaler } from './reference-scalers.js';
import { scoreScaler, type Trace, type TraceScaler, type TraceScore } from './trace-simulator.js';
import { traces } from './traces.js';

const maxWorkers = 20;

/** Scalers by name, each new for every trace. */
export const traceScalers: Readonly<Record<string, () => TraceScaler>> = {
  Drover: () => droverScaler(maxWorkers),
  HPA: () => hpaScaler(maxWorkers),
  KEDA: () => kedaScaler(maxWorkers),
  KPA: () => kpaScaler(maxWorkers),
};

export interface TraceResult {
  readonly trace: Trace;
  readonly scores: Readonly<Record<string, TraceScore>>;
}

/** Scores of every scaler under every trace. Deterministic. */
export function scoreAll(): readonly TraceResult[] {
  return traces.map((trace) => ({
    trace,
    scores: Object.fromEntries(
      Object.entries(traceScalers).map(([name, create]) => [name, scoreScaler(trace, create())]),
    ),
  }));
}
