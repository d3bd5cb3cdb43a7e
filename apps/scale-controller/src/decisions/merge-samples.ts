import type { ApplicationSample, TriggerSample } from '@drover/scale-link';

/**
 * Makes one sample of what several runtimes measured of an application. Invocations are summed. Triggers are the same source seen
 * several times: the largest backlog counts, and a problem only where no runtime could measure.
 */
export function mergeSamples(samples: readonly ApplicationSample[]): ApplicationSample | undefined {
  const [first, ...others] = samples;
  if (!first || others.length === 0) return first;
  return others.reduce(mergeTwo, first);
}

function mergeTwo(a: ApplicationSample, b: ApplicationSample): ApplicationSample {
  const readyWorkers = sumKnown(a.readyWorkers, b.readyWorkers);
  return {
    application: a.application,
    inFlight: a.inFlight + b.inFlight,
    waiting: a.waiting + b.waiting,
    capacity: a.capacity + b.capacity,
    ...(readyWorkers !== undefined && { readyWorkers }),
    arrivals: a.arrivals + b.arrivals,
    completions: a.completions + b.completions,
    failures: a.failures + b.failures,
    meanServiceMs: weighted(a.meanServiceMs, a.completions, b.meanServiceMs, b.completions),
    p95ServiceMs: largest(a.p95ServiceMs, b.p95ServiceMs),
    versions: mergeVersions(a.versions, b.versions),
    cpu: weighted(a.cpu, a.readyWorkers ?? 1, b.cpu, b.readyWorkers ?? 1),
    memory: largest(a.memory, b.memory),
    isBackpressured: a.isBackpressured || b.isBackpressured,
    triggers: mergeTriggers(a.triggers, b.triggers),
  };
}

function mergeVersions(
  a: ApplicationSample['versions'],
  b: ApplicationSample['versions'],
): ApplicationSample['versions'] {
  const merged: Record<string, ApplicationSample['versions'][string]> = { ...a };
  for (const [code, version] of Object.entries(b)) {
    const known = merged[code];
    const p95ServiceMs = largest(known?.p95ServiceMs, version.p95ServiceMs);
    merged[code] = {
      completions: version.completions + (known?.completions ?? 0),
      failures: version.failures + (known?.failures ?? 0),
      ...(p95ServiceMs !== undefined && { p95ServiceMs }),
    };
  }
  return merged;
}

function mergeTriggers(a: readonly TriggerSample[], b: readonly TriggerSample[]): readonly TriggerSample[] {
  const merged = new Map(a.map((trigger) => [trigger.functionName, trigger]));
  for (const trigger of b) {
    const known = merged.get(trigger.functionName);
    merged.set(trigger.functionName, known ? mergeTrigger(known, trigger) : trigger);
  }
  return [...merged.values()];
}

function mergeTrigger(a: TriggerSample, b: TriggerSample): TriggerSample {
  if (a.problem !== undefined) return b;
  if (b.problem !== undefined) return a;
  const oldestAgeMs = largest(a.oldestAgeMs, b.oldestAgeMs);
  const arrivalsPerSecond = largest(a.arrivalsPerSecond, b.arrivalsPerSecond);
  return {
    ...a,
    ...b,
    waiting: Math.max(a.waiting ?? 0, b.waiting ?? 0),
    ...(oldestAgeMs !== undefined && { oldestAgeMs }),
    ...(arrivalsPerSecond !== undefined && { arrivalsPerSecond }),
  };
}

function largest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.max(a, b);
}

function sumKnown(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b;
}

function weighted(a: number | undefined, aWeight: number, b: number | undefined, bWeight: number): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const total = aWeight + bWeight;
  return total === 0 ? Math.max(a, b) : (a * aWeight + b * bWeight) / total;
}
