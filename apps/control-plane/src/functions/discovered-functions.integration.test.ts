import { defaultTenantId } from '@drover/contracts';
import { systemClock } from '@drover/service-kit';
import { eventually, FakeClock, seededRandomness } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { RuntimeConnection } from '@drover/dispatchers';
import { refuse, ScriptedRuntime } from '@drover/dispatchers/testing';
import { DiscoveredFunctions } from './discovered-functions.js';
import type { DiscoveredFunctionsObservation } from './discovered-observations.js';

const defaults = {
  timeoutMs: 30_000,
  concurrency: 4,
  queueSize: 100,
  maxRetries: 3,
  retry: { handlerErrors: false, delayMs: 10, backOffFactor: 1, maxDelayMs: 60_000, windowMs: 600_000 },
};

/** A runtime that lists these functions of one application; undefined: it is out of order. */
class Lister {
  readonly runtime = new ScriptedRuntime();
  functions: readonly string[] | undefined = ['hello'];
  problems: readonly { readonly application: string; readonly problem: string }[] = [];

  constructor() {
    this.runtime.script = ({ headers, response }) => {
      if (!this.functions) return refuse(response, 503, 'FUNCTIONS_SHUTTING_DOWN');
      const etag = `"${this.functions.join()}${this.problems.length}"`;
      if (headers['if-none-match'] === etag) return void response.writeHead(304, { etag }).end();
      const functions = this.functions.map((name) => ({ name, trigger: 'queueTrigger', isDisabled: false }));
      response.writeHead(200, { etag });
      const applications = [{ name: 'default/shop', functions }];
      response.end(JSON.stringify({ applications, problems: this.problems }));
    };
  }
}

async function withFound(
  use: (parts: {
    discovered: DiscoveredFunctions;
    lister: Lister;
    clock: FakeClock;
    said: DiscoveredFunctionsObservation[];
  }) => Promise<void>,
  { isStarted = true, hasUrl = true, isEnding = false } = {},
): Promise<void> {
  const lister = new Lister();
  await lister.runtime.start();
  const { url } = lister.runtime;
  if (!isStarted) await lister.runtime.stop();
  const clock = new FakeClock();
  const said: DiscoveredFunctionsObservation[] = [];
  const connection = new RuntimeConnection({
    runtimeUrl: hasUrl ? url : undefined,
    runtimeUrlFile: undefined,
    masterKey: undefined,
    clock: systemClock,
  });
  const observe = (observation: DiscoveredFunctionsObservation) => void said.push(observation);
  const discovered = new DiscoveredFunctions({
    connection,
    defaults,
    clock,
    randomness: seededRandomness(1),
    observe,
    keepMs: 10_000,
    isEnding: () => isEnding,
  });
  await discovered.start();
  try {
    await use({ discovered, lister, clock, said });
  } finally {
    await discovered.stop();
    await connection.stop();
    if (isStarted) await lister.runtime.stop();
  }
}

const names = (discovered: DiscoveredFunctions) => discovered.list(defaultTenantId).map(({ name }) => name);

/** Lets time pass until it is so: each question is asked on a real connection. */
const whenTimePasses = (clock: FakeClock, stepMs: number, isSo: () => boolean) =>
  eventually(async () => {
    if (isSo()) return true;
    await clock.advance(stepMs);
    return false;
  });

describe('discovered functions', () => {
  it('are there once the runtime has answered, and whoever waits hears of it', async () => {
    await withFound(async ({ discovered, lister }) => {
      expect(discovered.isKnown).toBe(false);
      await discovered.waitForFirst(60_000);
      expect(discovered.isKnown).toBe(true);
      expect(names(discovered)).toEqual(['hello']);
      expect(discovered.find(defaultTenantId, 'shop.hello')).toMatchObject({
        discovered: { application: 'shop' },
        timeoutMs: 30_000,
      });
      expect(discovered.find('other' as typeof defaultTenantId, 'hello')).toBeUndefined(); // a tenant without applications
      expect(lister.runtime.requests[0]).toMatchObject({ method: 'GET', url: '/admin/applications' });
      await discovered.waitForFirst(60_000);
    });
  });

  it('follow what the runtime says, which says little while nothing changed', async () => {
    await withFound(async ({ discovered, lister, clock, said }) => {
      await discovered.waitForFirst(60_000);
      const hello = discovered.find(defaultTenantId, 'hello');
      const changes: string[] = [];
      discovered.onChange((tenantId, name, now) => void changes.push(`${tenantId} ${name} ${now ? 'there' : 'gone'}`));
      await whenTimePasses(clock, 2_000, () => lister.runtime.requests.length >= 3);
      expect(said).toEqual([{ kind: 'discovered-functions.listed', count: 1 }]);
      expect(discovered.find(defaultTenantId, 'hello')).toBe(hello);
      lister.functions = ['hello', 'bye'];
      await whenTimePasses(clock, 2_000, () => names(discovered).length === 2);
      expect(changes).toEqual(['default bye there', 'default shop.bye there']);
      expect(discovered.find(defaultTenantId, 'hello')).toBe(hello);
      lister.functions = [];
      await whenTimePasses(clock, 2_000, () => names(discovered).length === 0);
      expect(changes.slice(2)).toEqual([
        'default hello gone',
        'default shop.hello gone',
        'default bye gone',
        'default shop.bye gone',
      ]);
    });
  });

  it('stay for a while when the runtime is away, and come back with it', async () => {
    await withFound(async ({ discovered, lister, clock, said }) => {
      await discovered.waitForFirst(60_000);
      lister.functions = undefined;
      const asked = lister.runtime.requests.length;
      await whenTimePasses(clock, 500, () => lister.runtime.requests.length > asked + 3);
      expect(names(discovered)).toEqual(['hello']);
      await whenTimePasses(clock, 1_000, () => names(discovered).length === 0);
      expect(said.map(({ kind }) => kind)).toEqual([
        'discovered-functions.listed',
        'discovered-functions.unavailable',
        'discovered-functions.forgotten',
      ]);
      lister.functions = ['hello'];
      await whenTimePasses(clock, 1_000, () => names(discovered).length === 1);
    });
  });

  it('are not missed with a warning by a platform that stops beside the runtime', async () => {
    await withFound(
      async ({ discovered, lister, clock, said }) => {
        await discovered.waitForFirst(60_000);
        lister.functions = undefined;
        await whenTimePasses(clock, 1_000, () => names(discovered).length === 0);
        expect(said.map(({ kind }) => kind)).toEqual(['discovered-functions.listed', 'discovered-functions.forgotten']);
      },
      { isEnding: true },
    );
  });

  it('make the platform ready while the runtime answers and serves one of its applications', async () => {
    await withFound(async ({ discovered, lister, clock }) => {
      const because = (problems: Readonly<Record<string, string>>) => ({ isReady: false, problems });
      expect(discovered.health()).toEqual(because({ runtime: 'the runtime has not started yet' }));
      await discovered.waitForFirst(60_000);
      expect(discovered.health()).toEqual({ isReady: true, problems: {} });

      const broken = { 'application other': 'it has no functions' };
      lister.problems = [{ application: 'other', problem: 'it has no functions' }];
      await whenTimePasses(clock, 2_000, () => 'application other' in discovered.health().problems);
      expect(discovered.health()).toEqual({ isReady: true, problems: broken });

      lister.problems = [...lister.problems, { application: 'shop', problem: 'no function worker is ready' }];
      await whenTimePasses(clock, 2_000, () => !discovered.health().isReady);
      expect(discovered.health()).toEqual(because({ ...broken, 'application shop': 'no function worker is ready' }));

      lister.functions = undefined;
      await whenTimePasses(clock, 2_000, () => 'runtime' in discovered.health().problems);
      expect(discovered.health()).toEqual(because({ runtime: 'the runtime does not answer: it answered 503' }));

      lister.functions = ['hello'];
      lister.problems = [];
      await whenTimePasses(clock, 1_000, () => discovered.health().isReady);
      expect(discovered.health().problems).toEqual({});
    });
  });

  it('are not waited for longer than told', async () => {
    await withFound(
      async ({ discovered, clock }) => {
        const waited = discovered.waitForFirst(100);
        await clock.advance(100);
        await waited;
        expect([discovered.isKnown, names(discovered)]).toEqual([false, []]);
      },
      { isStarted: false },
    );
  });

  it('are none where there is no runtime, which nobody waits for', async () => {
    await withFound(
      async ({ discovered }) => {
        await discovered.waitForFirst(60_000);
        expect([discovered.isKnown, names(discovered)]).toEqual([true, []]);
        expect(discovered.health()).toEqual({ isReady: true, problems: {} });
      },
      { hasUrl: false },
    );
  });

  it.each([
    '<html>',
    '{"applications":5}',
    '{"applications":[{"name":"a/b"}]}',
    '{"applications":[],"problems":[1]}',
    'null',
  ])('are left alone by the answer %s', async (body) => {
    await withFound(async ({ discovered, lister, clock, said }) => {
      await discovered.waitForFirst(60_000);
      lister.runtime.script = ({ response }) => void response.end(body);
      await whenTimePasses(clock, 2_000, () => said.length === 2);
      expect(said[1]).toEqual({ kind: 'discovered-functions.unavailable', reason: 'its answer cannot be read' });
      expect(names(discovered)).toEqual(['hello']);
    });
  });
});
