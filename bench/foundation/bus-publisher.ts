import type { NewEvent } from '@drover/contracts';
import type { EventBus } from '@drover/event-bus';
import { sleep, systemClock } from '@drover/service-kit';
import { sharedNowMs } from '../harness/clock.js';
import { serveRequests } from '../harness/program.js';
import { benchTopic, openBus, type BenchPayload } from './bus-process.js';

export type PublishRequest =
  | { readonly kind: 'open'; readonly url: string }
  | { readonly kind: 'paced'; readonly run: number; readonly perSecond: number; readonly durationMs: number }
  | {
      readonly kind: 'burst';
      readonly run: number;
      readonly callers: number;
      readonly batch: number;
      readonly durationMs: number;
    };

export interface Published {
  readonly events: number;
  readonly durationMs: number;
}

const keys = 16;
let bus: EventBus;

function event(run: number, n: number): NewEvent {
  const payload: BenchPayload = { run, calledAtMs: sharedNowMs() };
  return { topic: benchTopic, key: `k${n % keys}`, generation: n, payload };
}

/** At an even pace, without waiting for one before the next: as independent callers would. */
async function publishPaced(run: number, perSecond: number, durationMs: number): Promise<Published> {
  const startedMs = performance.now();
  const total = Math.round((perSecond * durationMs) / 1000);
  const underWay: Promise<void>[] = [];
  while (underWay.length < total) {
    const due = Math.min(total, Math.floor(((performance.now() - startedMs) * perSecond) / 1000) + 1);
    while (underWay.length < due) underWay.push(bus.publish([event(run, underWay.length)]));
    await sleep(systemClock, 1);
  }
  const elapsedMs = performance.now() - startedMs;
  await Promise.all(underWay);
  return { events: total, durationMs: elapsedMs };
}

async function publishBurst(run: number, callers: number, batch: number, durationMs: number): Promise<Published> {
  const startedMs = performance.now();
  let events = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() - startedMs < durationMs) {
        const first = events;
        events += batch;
        await bus.publish(Array.from({ length: batch }, (_, n) => event(run, first + n)));
      }
    }),
  );
  return { events, durationMs: performance.now() - startedMs };
}

serveRequests<PublishRequest>(async (request) => {
  switch (request.kind) {
    case 'open':
      bus = await openBus(request.url);
      return { events: 0, durationMs: 0 };
    case 'paced':
      return publishPaced(request.run, request.perSecond, request.durationMs);
    case 'burst':
      return publishBurst(request.run, request.callers, request.batch, request.durationMs);
  }
});
