import { systemClock } from '@drover/service-kit';
import { describe, expect, it } from 'vitest';
import { InvocationRouter } from '../invocations/invocation-router.js';
import { LeastLoaded } from '../invocations/policies/least-loaded.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import { JobHost } from './job-host.js';

async function startedHost(): Promise<{ readonly host: JobHost; readonly calls: string[] }> {
  const calls: string[] = [];
  const host = new JobHost({
    key: 'tenant/app:m1',
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
          start: () => Promise.resolve(),
          drain: () => Promise.resolve(),
          stop: () => Promise.resolve(),
          pause: () => void calls.push('pause'),
          resume: () => void calls.push('resume'),
          measure: () => Promise.resolve({ waiting: 0, oldestAgeMs: undefined }),
        },
      },
    ],
    messages: { receive: () => undefined },
    observe: () => undefined,
  });
  await host.start(new AbortController().signal);
  return { host, calls };
}

describe('a job host', () => {
  it('starts with paused listeners and resumes them when its first worker is ready', async () => {
    const { host, calls } = await startedHost();
    expect(calls).toEqual(['pause']);
    host.router.add({ id: 'w1', codeVersion: 'c1', limit: 1 } as FunctionWorker); // all that the router reads
    expect(calls).toEqual(['pause', 'resume']);
  });

  it('stays paused for one reason when another one ends, also one that never began', async () => {
    const { host, calls } = await startedHost();
    host.resume('saturated');
    calls.length = 0;
    host.pause('drain');
    host.resume('memory');
    host.pause('saturated');
    host.resume('saturated');
    expect(calls).toEqual(['pause']);
    host.resume('drain');
    expect(calls).toEqual(['pause', 'resume']);
  });

  it('counts a reason once, however often it is given', async () => {
    const { host, calls } = await startedHost();
    host.pause('saturated');
    host.resume('saturated');
    expect(calls).toEqual(['pause', 'resume']);
  });
});
