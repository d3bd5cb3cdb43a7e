import { describe, expect, it } from 'vitest';
import { LossSignals } from './loss-signals.js';

describe('signals of lost locks', () => {
  it('are used again after a delivery that kept its lock', () => {
    const signals = new LossSignals();
    const first = signals.take();
    signals.giveBack(first);
    expect(signals.take()).toBe(first);
    expect(signals.take()).not.toBe(first);
  });

  it('are dropped when they were aborted, or when a component still listens', () => {
    const signals = new LossSignals();
    const [aborted, heard] = [signals.take(), signals.take()];
    aborted.abort();
    heard.signal.addEventListener('abort', () => undefined);
    signals.giveBack(aborted);
    signals.giveBack(heard);
    expect([aborted, heard]).not.toContain(signals.take());
  });
});
