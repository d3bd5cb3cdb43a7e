import type { StreamingMessage } from '@drover/function-rpc';
import { systemClock } from '@drover/service-kit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvocationRouter } from '../invocations/invocation-router.js';
import { LeastLoaded } from '../invocations/policies/least-loaded.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import { JobHost } from './job-host.js';
import { JobHostManager } from './job-host-manager.js';

interface Received {
  readonly host: string;
  readonly id: string;
}

function setUp(maxHeldLogs = 1_000): {
  readonly manager: JobHostManager;
  readonly received: Received[];
  readonly dropped: string[];
  readonly makeHost: (key: string, onStart?: () => Promise<void>) => JobHost;
} {
  const received: Received[] = [];
  const dropped: string[] = [];
  const target = (host: string) => ({
    receive: (_workerId: string, message: StreamingMessage) => void received.push({ host, id: message.requestId }),
  });
  const manager = new JobHostManager({
    maxHeldLogs,
    onDroppedLog: (workerId) => void dropped.push(workerId),
    placeholders: target('placeholder'),
  });
  const makeHost = (key: string, onStart: () => Promise<void> = () => Promise.resolve()): JobHost =>
    new JobHost({
      key,
      functions: [],
      router: new InvocationRouter<FunctionWorker>({
        policy: () => new LeastLoaded(),
        clock: systemClock,
        maxWaiting: 0,
      }),
      isolated: new InvocationRouter<FunctionWorker>({
        policy: () => new LeastLoaded(),
        clock: systemClock,
        maxWaiting: 0,
      }),
      extensions: { close: async () => undefined },
      triggers: [
        {
          functionName: 'hello',
          type: 'queueTrigger',
          listener: {
            name: 'listener',
            broken: new Promise(() => undefined),
            start: onStart,
            drain: () => Promise.resolve(),
            stop: () => Promise.resolve(),
            pause: () => undefined,
            resume: () => undefined,
            measure: () => Promise.resolve({ waiting: 0, oldestAgeMs: undefined }),
          },
        },
      ],
      messages: target(key),
      observe: () => undefined,
    });
  return { manager, received, dropped, makeHost };
}

function message(id: number, kind: 'rpcLog' | 'invocationResponse' = 'invocationResponse'): StreamingMessage {
  const value = kind === 'rpcLog' ? {} : { invocationId: String(id), outputData: [] };
  return { requestId: String(id), kind, value } as unknown as StreamingMessage; // its content is not read
}

describe('the routing cut-over', () => {
  it('loses, doubles and reorders nothing, whatever comes while workers change hands', async () => {
    const event = fc.oneof(
      { weight: 5, arbitrary: fc.record({ do: fc.constant('message' as const), worker: fc.nat(2) }) },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constant('switch' as const),
          worker: fc.nat(2),
          host: fc.nat(2),
          startsAfter: fc.nat(4),
          fails: fc.boolean(),
        }),
      },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('turn' as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 60 }), async (events) => {
        const { manager, received, makeHost } = setUp();
        const sent = new Map<string, string[]>();
        const switches: Promise<unknown>[] = [];
        const busy = new Set<string>();
        let next = 0;
        for (const id of ['w0', 'w1', 'w2']) manager.register(id);
        for (const one of events) {
          if (one.do === 'turn') {
            await Promise.resolve();
            continue;
          }
          const workerId = `w${one.worker}`;
          if (one.do === 'message') {
            next += 1;
            manager.route(workerId, message(next));
            sent.set(workerId, [...(sent.get(workerId) ?? []), String(next)]);
            continue;
          }
          if (busy.has(workerId)) continue; // a worker is given away once at a time
          busy.add(workerId);
          const host = manager.getOrCreate(`h${one.host}`, () =>
            makeHost(`h${one.host}`, async () => {
              for (let turn = 0; turn < one.startsAfter; turn += 1) await Promise.resolve();
              if (one.fails) throw new Error('the listener broke');
            }),
          );
          switches.push(
            manager
              .switchTo(workerId, host)
              .catch(() => undefined)
              .finally(() => busy.delete(workerId)),
          );
        }
        await Promise.all(switches);
        const all = [...sent.values()].flat();
        expect(received.map(({ id }) => id).toSorted()).toEqual(all.toSorted());
        for (const list of sent.values())
          expect(received.map(({ id }) => id).filter((id) => list.includes(id))).toEqual(list);
      }),
      { numRuns: 500 },
    );
  });

  it('what came before the new job host is there goes to it, and before what comes later', async () => {
    const { manager, received, makeHost } = setUp();
    let begin: () => void = () => undefined;
    const host = manager.getOrCreate('app', () => makeHost('app', () => new Promise((resolve) => (begin = resolve))));
    manager.register('w');
    manager.route('w', message(1));
    const switched = manager.switchTo('w', host);
    manager.route('w', message(2));
    begin();
    await switched;
    manager.route('w', message(3));
    expect(received).toEqual([
      { host: 'placeholder', id: '1' },
      { host: 'app', id: '2' },
      { host: 'app', id: '3' },
    ]);
  });

  it('stays where it was when the new job host does not come up, and hears of it what it missed', async () => {
    const { manager, received, makeHost } = setUp();
    manager.register('w');
    const host = manager.getOrCreate('app', () => makeHost('app', () => Promise.reject(new Error('no queue'))));
    const switched = manager.switchTo('w', host);
    manager.route('w', message(1));
    await expect(switched).rejects.toThrow('no queue');
    expect(received).toEqual([{ host: 'placeholder', id: '1' }]);
  });

  it('drops and counts log lines beyond the buffer, but never a response', async () => {
    const { manager, received, dropped, makeHost } = setUp(2);
    manager.register('w');
    let begin: () => void = () => undefined;
    const host = manager.getOrCreate('app', () => makeHost('app', () => new Promise((resolve) => (begin = resolve))));
    const switched = manager.switchTo('w', host);
    for (let id = 1; id <= 4; id += 1) manager.route('w', message(id, 'rpcLog'));
    manager.route('w', message(5));
    begin();
    await switched;
    expect(received.map(({ id }) => id)).toEqual(['1', '2', '5']);
    expect(dropped).toEqual(['w', 'w']);
  });

  it('does not know workers that never registered', () => {
    expect(setUp().manager.route('unknown', message(1))).toBe(false);
  });
});

describe('job hosts', () => {
  it('are created once for concurrent calls, and returned only when they run', async () => {
    const { manager, makeHost } = setUp();
    let made = 0;
    const ask = (): Promise<JobHost> =>
      manager.getOrCreate('app', () => {
        made += 1;
        return makeHost('app');
      });
    const [one, other] = await Promise.all([ask(), ask()]);
    expect(one).toBe(other);
    expect(one.state).toBe('running');
    expect(made).toBe(1);
  });

  it('are made anew after one that failed to start', async () => {
    const { manager, makeHost } = setUp();
    await expect(
      manager.getOrCreate('app', () => makeHost('app', () => Promise.reject(new Error('no queue')))),
    ).rejects.toThrow('no queue');
    expect(manager.size).toBe(0);
    expect((await manager.getOrCreate('app', () => makeHost('app'))).state).toBe('running');
  });

  it('are gone when they are stopped', async () => {
    const { manager, makeHost } = setUp();
    const host = await manager.getOrCreate('app', () => makeHost('app'));
    await manager.stop('app', new AbortController().signal);
    expect(host.state).toBe('stopped');
    expect(manager.get('app')).toBeUndefined();
  });
});
