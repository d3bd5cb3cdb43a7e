import { describe, expect, it } from 'vitest';
import { factsWith, policyWith } from './decisions.test.fixture.js';
import { seedRules } from './seed-rules.js';
import type { RuleId, ScaleFacts, Vote } from './types.js';

type Seeded = keyof typeof seedRules;
type Row = [
  rule: Seeded,
  when: string,
  ready: number,
  facts: Partial<ScaleFacts>,
  vote: Vote | undefined,
  workers?: number,
];

const fiveMinutes = 300_000;

/** Each condition of the tables in seed 000, just inside and just outside. */
const rows: Row[] = [
  ['depth', 'depth > 0 and no instance', 0, { backlog: 1 }, 'up', 1],
  ['depth', 'a runtime holds an event and no instance', 0, { wakes: ['event'] }, 'up', 1],
  ['depth', 'depth > 0 and an instance that starts', 0, { backlog: 1, starting: 1, desired: 1 }, 'keep', 1],
  ['depth', 'depth == 0 and idle for more than 5 min', 2, { idleForMs: fiveMinutes + 1 }, 'down', 0],
  ['depth', 'depth == 0 and idle for 5 min', 2, { idleForMs: fiveMinutes }, 'keep', 1],
  ['depth', 'idle for more than 5 min, and an invocation runs', 2, { idleForMs: 400_000, inFlight: 1 }, 'keep', 1],
  ['depth', 'idle, and longer idle times are usual', 1, { idleForMs: 310_000, keepAliveMs: 400_000 }, 'keep', 1],
  ['depth', 'idle, and nothing is known', 1, { idleForMs: 400_000, isStale: true }, undefined],
  ['age', 'oldest message at 30 s', 2, { oldestAgeMs: 30_000, backlog: 100 }, undefined],
  ['age', 'oldest message above 30 s', 2, { oldestAgeMs: 45_000, backlog: 100 }, 'up', 3],
  ['age', 'oldest message far above 30 s', 2, { oldestAgeMs: 900_000, backlog: 100 }, 'up', 4],
  ['age', 'one message that comes back again and again', 2, { oldestAgeMs: 900_000, backlog: 1 }, 'keep', 2],
  [
    'age',
    'old message, and workers that were just added',
    2,
    { oldestAgeMs: 45_000, backlog: 100, settledForMs: 14_999 },
    'keep',
    2,
  ],
  ['cpu', 'cpu at 70 %', 2, { cpu: 0.7 }, 'keep', 2],
  ['cpu', 'cpu above 70 %', 4, { cpu: 0.9 }, 'up', 6],
  ['cpu', 'cpu below 20 %, several instances', 4, { cpu: 0.19 }, 'down', 2],
  ['cpu', 'cpu at 20 %', 4, { cpu: 0.2 }, 'keep', 2],
  ['cpu', 'cpu below 20 %, one instance', 1, { cpu: 0.01 }, 'keep', 1],
  ['cpu', 'cpu is not known', 4, { cpu: undefined }, undefined],
  ['memory', 'memory at 80 %', 2, { memory: 0.8, inFlight: 50 }, undefined],
  ['memory', 'memory above 80 %, and work to spread', 2, { memory: 0.95, inFlight: 50 }, 'up', 3],
  ['memory', 'memory above 80 %, and nothing to spread', 2, { memory: 0.95, inFlight: 2 }, 'keep', 2],
  ['rate', 'rate at capacity', 2, { serviceMs: 100, arrivalsPerSecond: 200 }, 'keep', 2],
  ['rate', 'rate above capacity', 2, { serviceMs: 100, arrivalsPerSecond: 210 }, 'up', 3],
  ['rate', 'rate below 10 % of capacity', 4, { serviceMs: 100, arrivalsPerSecond: 39 }, 'down', 1],
  ['rate', 'rate at 10 % of capacity', 4, { serviceMs: 100, arrivalsPerSecond: 40 }, 'keep', 1],
  ['rate', 'no invocation has completed', 4, { serviceMs: undefined, arrivalsPerSecond: 400 }, undefined],
  ['utilization', 'utilization at 70 %', 2, { panicLoad: 14 }, 'keep', 2],
  ['utilization', 'utilization above 70 %', 2, { panicLoad: 15 }, 'up', 3],
  ['utilization', 'requests wait in the runtime', 1, { panicLoad: 3, inFlight: 10, waiting: 25 }, 'up', 5],
  ['utilization', 'below 20 % for 5 min', 4, { panicLoad: 7, lowForMs: fiveMinutes }, 'down', 2],
  ['utilization', 'below 20 % for less than 5 min', 4, { panicLoad: 7, lowForMs: fiveMinutes - 1 }, 'keep', 2],
  ['backpressure', 'listeners are paused', 2, { isBackpressured: true, backlog: 100 }, 'up', 4],
  [
    'backpressure',
    'listeners are paused, added workers start',
    2,
    { isBackpressured: true, backlog: 100, settledForMs: 0 },
    'keep',
    2,
  ],
  ['backpressure', 'listeners are paused for few events', 2, { isBackpressured: true, inFlight: 3 }, 'up', 3],
  ['backpressure', 'listeners receive', 2, { isBackpressured: false, backlog: 100 }, undefined],
  ['replacement', 'a worker failed', 3, { wakes: ['replace'] }, 'keep', 3],
  ['replacement', 'the only worker failed', 0, { wakes: ['replace'] }, 'keep', 1],
  ['replacement', 'no worker failed', 3, {}, undefined],
];

describe('the rows of seed 000', () => {
  it.each(rows)('%s: %s', (rule, _, ready, facts, vote, workers) => {
    const proposed = seedRules[rule].propose(factsWith(ready, facts), policyWith());
    expect([proposed?.vote, proposed?.workers]).toEqual([vote, workers]);
  });

  it('are all here, for both directions where a direction exists', () => {
    const voted = (vote: Vote): RuleId[] => [...new Set(rows.filter((row) => row[4] === vote).map(([rule]) => rule))];
    expect(voted('up')).toEqual(['depth', 'age', 'cpu', 'memory', 'rate', 'utilization', 'backpressure']);
    expect(voted('down')).toEqual(['depth', 'cpu', 'rate', 'utilization']);
    expect(new Set(rows.map(([rule]) => rule))).toEqual(new Set(Object.keys(seedRules)));
  });

  it('say what they compared', () => {
    const texts = rows.flatMap(([rule, , ready, facts]) => {
      const all = factsWith(ready, facts);
      return seedRules[rule].propose(all, policyWith()) ? [seedRules[rule].say(all, policyWith())] : [];
    });
    expect(texts).toContain('the oldest message waits for 45 s, limit 30 s');
    expect(texts).toContain('workers use 90 % CPU');
    expect(texts).toContain('210 events/s arrive, capacity 200/s');
    expect(texts.join(' ')).not.toMatch(/undefined|NaN/);
  });
});
