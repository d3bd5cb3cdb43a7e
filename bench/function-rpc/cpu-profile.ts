import type { Profiler } from 'node:inspector';

/** One function and its share of the time in V8, callees left out. */
export interface SelfTime {
  readonly what: string;
  readonly share: number;
}

/** It waited, or was in code outside of V8 (sockets, HTTP/2), which the profiler cannot tell apart. */
const idle = '(idle)';

/**
 * Where the time between two moments went, most first; moments are those of `process.hrtime`, in microseconds. Samples are
 * counted, not their distances: those also hold the time that other processes had the CPU.
 */
export function selfTimes(profile: Profiler.Profile, from = 0, to = Number.POSITIVE_INFINITY): SelfTime[] {
  const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const spent = new Map<string, number>();
  let total = 0;
  let atUs = profile.startTime;
  for (const [index, id] of (profile.samples ?? []).entries()) {
    atUs += profile.timeDeltas?.[index] ?? 0;
    const what = names.get(id) ?? '(unknown)';
    if (atUs < from || atUs > to || what === idle) continue;
    spent.set(what, (spent.get(what) ?? 0) + 1);
    total += 1;
  }
  return [...spent]
    .map(([what, samples]) => ({ what, share: samples / total }))
    .toSorted((one, other) => other.share - one.share);
}

function nameOf({ functionName, url, lineNumber }: Profiler.Profile['nodes'][number]['callFrame']): string {
  const name = functionName || '(anonymous)';
  if (url === '') return name;
  const file = url.replace(/^file:\/\//, '').replace(/^.*?\/(?=(apps|packages|node_modules|bench)\/)/, '');
  return `${name} ${file}:${lineNumber + 1}`;
}
