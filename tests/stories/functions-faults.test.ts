import { eventually, isAlive } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerOf, app, helloApp, Load, startRuntime, withRuntime, type Runtime } from '../support/functions.js';

describe('a function that does not end in time', () => {
  let runtime: Runtime;
  beforeAll(async () => {
    const env = { DROVER_WORKER_TERMINATE_GRACE_MS: '500' };
    runtime = await startRuntime({ apps: [app('impatient')], workers: 2, env });
  });
  afterAll(async () => void (await runtime.stop()));

  const pid = async (): Promise<number> => Number(await (await runtime.call('/api/pid')).text());
  /** Resolves when both workers serve: a process that runs may still be starting. */
  const bothServe = (): Promise<void> =>
    eventually(async () => {
      const seen = await Promise.all(Array.from({ length: 8 }, pid));
      expect(new Set(seen)).toEqual(new Set(runtime.workers));
      expect(runtime.workers).toHaveLength(2);
    });

  it.each(['hang', 'spin'])(
    'is answered for with 504, and its worker replaced, while the other worker goes on: %s',
    async (name) => {
      await bothServe();
      const before = runtime.workers;
      const stuck = answerOf(() => runtime.call(`/api/${name}`));
      const others = new Load(() => runtime.call('/api/pid'), { atOnce: 1 });
      const { status, text } = await stuck;
      const meanwhile = others.answers.length;
      expect(status).toBe(504);
      expect(JSON.parse(text)).toMatchObject({ error: 'RUNTIME_INVOCATION_TIMED_OUT' });
      await others.stop();
      expect(others.statuses).toEqual([200]);
      expect(meanwhile).toBeGreaterThan(0);

      await eventually(() => expect(before.filter(isAlive)).toHaveLength(1));
      await eventually(() => expect(runtime.workers).toHaveLength(2));
      expect(runtime.workers).toContain(await pid());
      const reason = runtime.log.filter(
        ({ kind, reason: why }) => kind === 'worker.requested' && why === 'invocation-timeout',
      );
      expect(reason.length).toBeGreaterThan(0);
    },
  );

  it('cannot take the app down by being called again and again', async () => {
    const stuck = Array.from({ length: 4 }, () => answerOf(() => runtime.call('/api/hang')));
    for (const { status } of await Promise.all(stuck)) expect(status).toBeOneOf([503, 504]);
    await eventually(async () => expect(await pid()).toBeGreaterThan(0));
    await eventually(() => expect(runtime.workers).toHaveLength(2));
  });
});

describe('an app with mistakes in it', () => {
  it('runs what is good, and the log names file and function of everything else', () =>
    withRuntime({ apps: [app('broken-partly')] }, async (runtime) => {
      expect(await (await runtime.call('/api/good')).text()).toBe('good all the same');
      const logged = (wanted: string, at: string): string[] =>
        runtime.log.flatMap(({ kind, level, msg }) => (kind === wanted && level === at ? [msg] : []));
      const problems = [...logged('application.problem', 'error'), ...logged('application.warning', 'warn')];
      const about = (word: string): string =>
        problems.find((problem) => problem.includes(word)) ?? `nothing about ${word}`;

      expect(about('throws.js')).toContain('the settings of this file are missing');
      expect(about('twin.js')).toContain('"good" has already been registered');
      expect(about('pigeon')).toContain('carrierPigeonTrigger');
      expect(about('pigeon')).toContain('unknown.js');
      expect(about('second')).toMatch(/twice/i);
      expect(about('second')).toContain('first');
      expect(about('NAMED')).toContain('functions/names.js');
      expect(about('NAMED')).toContain('"named"');

      // Of two that want the same, the first one has it.
      expect(await (await runtime.call('/api/twice')).text()).toBe('first');
      expect(await (await runtime.call('/api/named')).text()).toBe('named');
      expect((await runtime.call('/api/other')).status).toBe(404);
      expect((await runtime.call('/api/pigeon')).status).toBe(404);
    }));

  it.each([
    ['broken-missing-main', [/dist\/src\/index\.js/, /package\.json/]],
    ['broken-host-json', [/host\.json/, /functionTimeout/]],
  ] as const)('does not keep another app from being served, and is told apart from it: %s', (name, words) =>
    withRuntime({ apps: [app(name), helloApp] }, async (runtime) => {
      expect(await (await runtime.call('/api/hello/you')).json()).toEqual({ hello: 'you' });
      const problems = runtime.log.flatMap(({ kind, msg }) => (kind === 'application.problem' ? [msg] : []));
      const problem = problems.filter((one) => one.includes(name)).join('\n');
      for (const word of words) expect(problem).toMatch(word);
      expect((await runtime.call('/api/fine')).status).toBe(404);
    }),
  );
});
