import { describe, expect, it } from 'vitest';
import { droverScaler } from './testing/drover-scaler.js';
import { hpaScaler, kedaScaler, kpaScaler } from './testing/reference-scalers.js';
import { scoreScaler, type TraceScaler, type TraceScore } from './testing/trace-simulator.js';
import { traces } from './testing/traces.js';

function scoresOf(name: string): Record<'drover' | 'hpa' | 'keda' | 'kpa', TraceScore> {
  const trace = traces.find((candidate) => candidate.name === name);
  if (!trace) throw new Error(`no trace ${name}`);
  const run = (scaler: TraceScaler): TraceScore => scoreScaler(trace, scaler);
  return { drover: run(droverScaler(20)), hpa: run(hpaScaler(20)), keda: run(kedaScaler(20)), kpa: run(kpaScaler(20)) };
}

describe('scored against the formulas of HPA, KEDA and KPA', () => {
  it.each(['bursts', 'queue'])('has the fewest misses under %s', (name) => {
    const { drover, hpa, keda, kpa } = scoresOf(name);
    expect(drover.misses).toBeLessThanOrEqual(Math.min(hpa.misses, keda.misses, kpa.misses));
  });

  it('has a tenth of the misses of the others under bursts, for at most a tenth more instance-seconds than HPA', () => {
    const { drover, hpa, keda, kpa } = scoresOf('bursts');
    expect(drover.misses * 10).toBeLessThan(Math.min(hpa.misses, keda.misses, kpa.misses));
    expect(drover.instanceSeconds).toBeLessThan(hpa.instanceSeconds * 1.1);
  });

  it('drains 5,000 messages in half the instance-seconds of HPA, and ends at zero', () => {
    const { drover, hpa } = scoresOf('queue');
    expect(drover.misses).toBe(0);
    expect(drover.events).toBe(5_000);
    expect(drover.instanceSeconds).toBeLessThan(hpa.instanceSeconds / 2);
  });

  it('learns the time of the next event: rare requests find a warm worker, for a third of what one that always runs costs', () => {
    const { drover, hpa, keda, kpa } = scoresOf('sparse');
    expect(drover.coldStarts).toBeLessThan(Math.min(keda.coldStarts, kpa.coldStarts) / 3);
    expect(drover.instanceSeconds).toBeLessThan(hpa.instanceSeconds * 0.35);
  });

  it('costs about as much as HPA under a steady load, without a miss after the start', () => {
    const { drover, hpa } = scoresOf('steady');
    expect(drover.instanceSeconds).toBeLessThan(hpa.instanceSeconds * 1.05);
    expect(drover.misses).toBeLessThan(hpa.misses);
    expect(drover.changes).toBeLessThan(12);
  });
});
