import { sharedNowMs } from '../harness/clock.js';
import { serveRequests } from '../harness/program.js';
import { benchTopic, openBus, type BenchPayload } from './bus-process.js';

export type SubscribeRequest =
  | { readonly kind: 'open'; readonly url: string }
  /** Answered when `events` of this run have been handled. */
  | { readonly kind: 'collect'; readonly run: number; readonly events: number };

export interface Collected {
  readonly latenciesMs: readonly number[];
  readonly firstCallAtMs: number;
  readonly lastHandledAtMs: number;
}

interface Tally {
  readonly latenciesMs: number[];
  firstCallAtMs: number;
  lastHandledAtMs: number;
}

const tallies = new Map<number, Tally>();
let onHandled: () => void = () => undefined;

function tallyOf(run: number): Tally {
  const tally = tallies.get(run) ?? { latenciesMs: [], firstCallAtMs: Number.POSITIVE_INFINITY, lastHandledAtMs: 0 };
  tallies.set(run, tally);
  return tally;
}

async function open(url: string): Promise<void> {
  const bus = await openBus(url);
  await bus.subscribe({
    topics: [benchTopic],
    name: 'bench',
    from: 'now',
    handle(event) {
      const handledAtMs = sharedNowMs();
      const { run, calledAtMs } = event.payload as BenchPayload; // what the publisher wrote
      const tally = tallyOf(run);
      tally.latenciesMs.push(handledAtMs - calledAtMs);
      tally.firstCallAtMs = Math.min(tally.firstCallAtMs, calledAtMs);
      tally.lastHandledAtMs = handledAtMs;
      onHandled();
    },
  });
}

async function collect(run: number, events: number): Promise<Collected> {
  const tally = tallyOf(run);
  await new Promise<void>((resolve) => {
    onHandled = () => tally.latenciesMs.length >= events && resolve();
    onHandled();
  });
  onHandled = () => undefined;
  tallies.delete(run);
  return tally;
}

serveRequests<SubscribeRequest>((request) =>
  request.kind === 'open' ? open(request.url) : collect(request.run, request.events),
);
