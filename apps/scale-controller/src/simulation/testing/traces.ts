import type { Trace } from './trace-simulator.js';

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** Values that most traces share: invocations of 200 ms, four at a time, workers that start in one second. */
const usual = { serviceMs: 200, concurrency: 4, startMs: 1_000, waitLimitMs: 1_000, isQueue: false };

/** Loads that scaling is scored with. */
export const traces: readonly Trace[] = [
  { ...usual, name: 'steady', about: '30 requests/s for half an hour', seconds: 30 * minute, arrivals: () => 30 },
  {
    ...usual,
    name: 'bursts',
    about: '2 requests/s, and 100/s for 20 s in every five minutes',
    seconds: hour,
    arrivals: (second) => (second % (5 * minute) < 20 ? 100 : 2),
  },
  {
    ...usual,
    name: 'ramp',
    about: 'up to 120 requests/s within ten minutes, and down again',
    seconds: 30 * minute,
    arrivals: (second) => Math.max(0, 120 - Math.abs(second - 10 * minute) / 5),
  },
  {
    ...usual,
    name: 'queue',
    about: '5,000 messages at once, then none',
    seconds: 20 * minute,
    isQueue: true,
    isExact: true,
    waitLimitMs: 30_000,
    arrivals: (second) => (second === 60 ? 5_000 : 0),
  },
  {
    ...usual,
    name: 'sparse',
    about: 'one request each quarter of an hour, for eight hours',
    seconds: 8 * hour,
    isExact: true,
    waitLimitMs: 500,
    arrivals: (second) => (second % (15 * minute) === 7 ? 1 : 0),
  },
  {
    ...usual,
    name: 'office hours',
    about: 'four days with 10 requests/s from 9:00 to 9:20',
    seconds: 4 * day,
    waitLimitMs: 500,
    arrivals: (second) => (second % day >= 9 * hour && second % day < 9 * hour + 20 * minute ? 10 : 0),
  },
];
