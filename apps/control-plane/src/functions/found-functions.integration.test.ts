import { defaultTenantId } from '@drover/contracts';
import { seededRandomness } from '@drover/service-kit';
import { eventually, FakeClock } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { RuntimeConnection } from '@drover/dispatchers';
import { refuse, ScriptedRuntime } from '@drover/dispatchers/testing';
import { FoundFunctions } from './found-functions.js';
import type { FoundFunctionsObservation } from './found-observations.js';

const defaults = {
  timeoutMs: 30_000,
  concurrency: 4,
  queueSize: 100,
  maxRetries: 3,
  retry: { handlerErrors: false, delayMs: 10, backOffFactor: 1, maxDelayMs: 60_000 },
};

/** A runtime that lists these functions of one application; undefined: it is out of order. */
class Lister {
  readonly runtime = new ScriptedRuntime();
  functions: readonly string[] | undefined = ['hello'];

  constructor() {
    this.runtime.script = ({ headers, response }) => {
      if (!this.functions) return refuse(response, 503, 'FUNCTIONS_SHUTTING_DOWN');
      const etag = `"${this.functions.join()}"`;
      if (headers['if-none-match'] === etag) return void response.writeHead(304, { etag }).end();
      const functions = this.functions.map((name) => ({ name, trigger: 'queueTrigger', isDisabled: false }));
      response.writeHead(200, { etag });
      response.end(JSON.stringify({ applications: [{ name: 'default/shop', functions }] }));
    };
  }
}

async function withFound(
  use: (parts: {
    found: FoundFunctions;
    lister: Lister;
    clock: FakeClock;
    said: FoundFunctionsObservation[];
  }) => Promise<void>,
  { isStarted = true, hasUrl = true } = {},
): Promise<void> {
  const lister = new Lister();
  await lister.runtime.start();
  const { url } = lister.runtime;
  if (!isStarted) await lister.runtime.stop();
  const clock = new FakeClock();
  const said: FoundFunctionsObservation[] = [];
  const connection = new RuntimeConnection({
    runtimeUrl: hasUrl ? url : undefined,
    runtimeUrlFile: undefined,
    masterKey: undefined,
  });
  const observe = (observation: FoundFunctionsObservation) => void said.push(observation);
  const found = new FoundFunctions({
    connection,
    defaults,
    clock,
    randomness: seededRandomness(1),
    observe,
    keepMs: 10_000,
  });
  await found.start();
  try {
    await use({ found, lister, clock, said });
  } finally {
    await found.stop();
    await connection.stop();
    if (isStarted) await lister.runtime.stop();
  }
}

const names = (found: FoundFunctions) => found.list(defaultTenantId).map(({ name }) => name);

/** Lets time pass until it is so: each question is asked on a real connection. */
const whenTimePasses = (clock: FakeClock, stepMs: number, isSo: () => boolean) =>
  eventually(async () => {
    if (isSo()) return true;
    await clock.advance(stepMs);
    return false;
  });

describe('found functions', () => {
  it('are there once the runtime has answered, and whoever waits hears of it', async () => {
    await withFound(async ({ found, lister }) => {
      expect(found.isKnown).toBe(false);
      await found.waitForFirst(60_000);
      expect(found.isKnown).toBe(true);
      expect(names(found)).toEqual(['hello']);
      expect(found.find(defaultTenantId, 'shop.hello')).toMatchObject({
        found: { application: 'shop' },
        timeoutMs: 30_000,
      });
      expect(found.find('other' as typeof defaultTenantId, 'hello')).toBeUndefined(); // a tenant that somebody made
      expect(lister.runtime.requests[0]).toMatchObject({ method: 'GET', url: '/admin/applications' });
      await found.waitForFirst(60_000);
    });
  });

  it('follow what the runtime says, which says little while nothing changed', async () => {
    await withFound(async ({ found, lister, clock, said }) => {
      await found.waitForFirst(60_000);
      const hello = found.find(defaultTenantId, 'hello');
      const changes: string[] = [];
      found.onChange((tenantId, name, now) => void changes.push(`${tenantId} ${name} ${now ? 'there' : 'gone'}`));
      await whenTimePasses(clock, 2_000, () => lister.runtime.requests.length >= 3);
      expect(said).toEqual([{ kind: 'found-functions.listed', count: 1 }]);
      expect(found.find(defaultTenantId, 'hello')).toBe(hello);
      lister.functions = ['hello', 'bye'];
      await whenTimePasses(clock, 2_000, () => names(found).length === 2);
      expect(changes).toEqual(['default bye there', 'default shop.bye there']);
      expect(found.find(defaultTenantId, 'hello')).toBe(hello);
      lister.functions = [];
      await whenTimePasses(clock, 2_000, () => names(found).length === 0);
      expect(changes.slice(2)).toEqual([
        'default hello gone',
        'default shop.hello gone',
        'default bye gone',
        'default shop.bye gone',
      ]);
    });
  });

  it('stay for a while when the runtime is away, and come back with it', async () => {
    await withFound(async ({ found, lister, clock, said }) => {
      await found.waitForFirst(60_000);
      lister.functions = undefined;
      const asked = lister.runtime.requests.length;
      await whenTimePasses(clock, 500, () => lister.runtime.requests.length > asked + 3);
      expect(names(found)).toEqual(['hello']);
      await whenTimePasses(clock, 1_000, () => names(found).length === 0);
      expect(said.map(({ kind }) => kind)).toEqual([
        'found-functions.listed',
        'found-functions.unavailable',
        'found-functions.forgotten',
      ]);
      lister.functions = ['hello'];
      await whenTimePasses(clock, 1_000, () => names(found).length === 1);
    });
  });

  it('are not waited for longer than told', async () => {
    await withFound(
      async ({ found, clock }) => {
        const waited = found.waitForFirst(100);
        await clock.advance(100);
        await waited;
        expect([found.isKnown, names(found)]).toEqual([false, []]);
      },
      { isStarted: false },
    );
  });

  it('are none where there is no runtime, which nobody waits for', async () => {
    await withFound(
      async ({ found }) => {
        await found.waitForFirst(60_000);
        expect([found.isKnown, names(found)]).toEqual([true, []]);
      },
      { hasUrl: false },
    );
  });

  it.each(['<html>', '{"applications":5}', '{"applications":[{"name":"a/b"}]}', 'null'])(
    'are left alone by the answer %s',
    async (body) => {
      await withFound(async ({ found, lister, clock, said }) => {
        await found.waitForFirst(60_000);
        lister.runtime.script = ({ response }) => void response.end(body);
        await whenTimePasses(clock, 2_000, () => said.length === 2);
        expect(said[1]).toEqual({ kind: 'found-functions.unavailable', reason: 'its answer cannot be read' });
        expect(names(found)).toEqual(['hello']);
      });
    },
  );
});
