import type { TraceScaler, TraceView } from './trace-simulator.js';

const load = ({ inFlight, waiting }: TraceView): number => inFlight + waiting;
const target = ({ trace }: TraceView): number => trace.concurrency * 0.7;

/** Values of the last so many seconds. */
class SlidingWindow {
  readonly #values: { readonly atMs: number; readonly value: number }[] = [];
  readonly #lengthMs: number;
  #sum = 0;

  constructor(seconds: number) {
    this.#lengthMs = seconds * 1_000;
  }

  add(atMs: number, value: number): void {
    this.#values.push({ atMs, value });
    this.#sum += value;
    for (let [first] = this.#values; first && first.atMs <= atMs - this.#lengthMs; [first] = this.#values) {
      this.#values.shift();
      this.#sum -= first.value;
    }
  }

  get mean(): number {
    return this.#sum / Math.max(1, this.#values.length);
  }

  get largest(): number {
    return this.#values.reduce((most, { value }) => Math.max(most, value), 0);
  }
}

/** Behaviour that HPA applies to any metric: every 15 s, tolerance, at most doubling or four more, highest value of 300 s downwards. */
class HorizontalPodAutoscaler {
  readonly #recommended = new SlidingWindow(300);
  #second = 0;
  #desired = 1;

  next(view: TraceView, recommend: (desired: number) => number, maxWorkers: number): number {
    this.#second += 1;
    if (this.#second % 15 !== 0) return this.#desired;
    const wanted = Math.min(maxWorkers, Math.max(1, recommend(this.#desired)));
    this.#recommended.add(view.nowMs, wanted);
    const most = Math.max(this.#desired * 2, this.#desired + 4);
    this.#desired =
      wanted >= this.#desired ? Math.min(wanted, most) : Math.min(this.#desired, this.#recommended.largest);
    return this.#desired;
  }

  /** From outside: at zero, or woken. */
  set(desired: number): void {
    this.#desired = desired;
  }
}

/** Kubernetes HPA on concurrent requests per pod, at 70 % of what a pod takes; at least one pod. */
export function hpaScaler(maxWorkers: number): TraceScaler {
  const hpa = new HorizontalPodAutoscaler();
  return {
    tick: (view) =>
      hpa.next(
        view,
        (desired) => {
          const ratio = load(view) / Math.max(1, view.ready) / target(view);
          return Math.abs(ratio - 1) <= 0.1 ? desired : Math.ceil(Math.max(1, view.ready) * ratio);
        },
        maxWorkers,
      ),
  };
}

/** KEDA: looks each 30 s while at zero, HPA on the length per replica above, 300 s of cool-down to zero. */
export function kedaScaler(maxWorkers: number): TraceScaler {
  const hpa = new HorizontalPodAutoscaler();
  let second = 0;
  let isActive = false;
  let activeAtMs = 0;
  return {
    tick(view) {
      second += 1;
      if (second % 30 === 0 && load(view) > 0) {
        activeAtMs = view.nowMs;
        if (!isActive) hpa.set(1);
        isActive = true;
      }
      if (isActive && second % 30 === 0 && view.nowMs - activeAtMs >= 300_000) isActive = false;
      if (!isActive) return 0;
      return hpa.next(view, () => Math.ceil(load(view) / view.trace.concurrency), maxWorkers);
    },
  };
}

/** Knative KPA: every 2 s, windows of 60 s and 6 s, panic at twice the ready pods, pushed from zero, 30 s of grace to zero. */
export function kpaScaler(maxWorkers: number): TraceScaler {
  const stable = new SlidingWindow(60);
  const panic = new SlidingWindow(6);
  let second = 0;
  let desired = 0;
  let panicUntilMs = 0;
  let panicWorkers = 0;
  let emptySinceMs: number | undefined;
  const bounded = (value: number, ready: number): number =>
    Math.min(maxWorkers, Math.max(Math.floor(ready / 2), Math.min(value, Math.ceil(Math.max(1, ready) * 1_000))));
  return {
    tick(view) {
      second += 1;
      stable.add(view.nowMs, load(view));
      panic.add(view.nowMs, load(view));
      if (second % 2 !== 0) return desired;
      const ready = Math.max(1, view.ready);
      const stableWanted = bounded(Math.ceil(stable.mean / target(view)), view.ready);
      const panicWanted = bounded(Math.ceil(panic.mean / target(view)), view.ready);
      if (panicWanted / ready >= 2) panicUntilMs = view.nowMs + 60_000;
      if (view.nowMs < panicUntilMs) {
        panicWorkers = Math.max(panicWorkers, panicWanted, stableWanted, desired);
        desired = panicWorkers;
      } else {
        panicWorkers = 0;
        desired = stableWanted;
      }
      emptySinceMs = stable.mean === 0 ? (emptySinceMs ?? view.nowMs) : undefined;
      if (desired === 0 && (emptySinceMs === undefined || view.nowMs - emptySinceMs < 30_000)) desired = 1;
      return desired;
    },
    wake() {
      desired = Math.max(1, desired);
      return desired;
    },
  };
}
