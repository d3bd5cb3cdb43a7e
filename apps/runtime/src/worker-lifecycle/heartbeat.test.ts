import { describe, expect, it } from 'vitest';
import { answerWithinMs, isSilent } from './heartbeat.js';

describe('heartbeats', () => {
  it('count the silence of a worker from its last message, whenever the heartbeat was sent', () => {
    expect(answerWithinMs({ heardMs: 0, nowMs: 15_000 }, 15_000, 3)).toBe(30_000);
    expect(answerWithinMs({ heardMs: 14_000, nowMs: 15_000 }, 15_000, 3)).toBe(44_000);
    expect(answerWithinMs({ heardMs: 0, nowMs: 60_000 }, 15_000, 3)).toBe(15_000);
    expect(isSilent({ heardMs: 0, nowMs: 45_000 }, 15_000, 3)).toBe(true);
    expect(isSilent({ heardMs: 1, nowMs: 45_000 }, 15_000, 3)).toBe(false);
  });
});
