import { describe, expect, it } from 'vitest';
import { defaultPressureLimits, nextPressure, type Pressure } from './memory-pressure.js';

describe('memory pressure', () => {
  it('stays critical until use falls below the recovery limit', () => {
    const used = [0.5, 0.72, 0.91, 0.88, 0.8, 0.76, 0.74, 0.6];
    const states: Pressure[] = [];
    let state: Pressure = 'normal';
    for (const share of used) states.push((state = nextPressure(state, share, defaultPressureLimits)));
    expect(states).toEqual([
      'normal',
      'elevated',
      'critical',
      'critical',
      'critical',
      'critical',
      'elevated',
      'normal',
    ]);
  });
});
