import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { startUp, withDataDirectory } from '../support/platform.js';
import { answerOf, app, helloApp, Load, startedWorkers, withRuntime, type Runtime } from '../support/functions.js';

interface Readiness {
  readonly status: number;
  readonly problems: Readonly<Record<string, string>>;
}

async function readiness(runtime: Runtime): Promise<Readiness> {
  const answer = await runtime.call('/readyz');
  const { problems } = (await answer.json()) as Readiness;
  return { status: answer.status, problems };
}

describe('a function that ends its worker whenever it is called', () => {
  it('is refused after a few crashes, with the time until it is tried again, and the others stay served', () =>
    withRuntime({ apps: [app('crashing')] }, async (runtime) => {
      const calm = new Load(() => runtime.call('/api/calm'), { atOnce: 1 });
      const crashes = new Load(() => runtime.call('/api/crash'), { atOnce: 1 });
      await eventually(() => {
        const refused = crashes.answers.filter(({ text }) => text.includes('RUNTIME_FUNCTION_CRASHES'));
        expect(refused.length).toBeGreaterThan(3);
      });
      // From here on, only isolated workers end.
      const lostBefore = calm.answers.filter(({ status }) => status !== 200).length;
      const servedBefore = calm.answers.length;
      await eventually(() => expect(calm.answers.length).toBeGreaterThan(servedBefore + 50));
      await Promise.all([calm.stop(), crashes.stop()]);
      expect(calm.answers.filter(({ status }) => status !== 200)).toHaveLength(lostBefore);
      expect(lostBefore).toBeLessThan(4);
      const refusal = await runtime.call('/api/crash');
      expect(refusal.status).toBe(503);
      expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await readiness(runtime)).status).toBe(200);
    }));
});

describe('a worker that loses its stream but lives on', () => {
  it('is ended and replaced', () =>
    withRuntime({ apps: [app('crashing')] }, async (runtime) => {
      const before = Number(await (await runtime.call('/api/calm')).text());
      const { status, text } = await answerOf(() => runtime.call('/api/linger'));
      expect([status, text]).toEqual([503, expect.stringContaining('RUNTIME_WORKER_LOST')]);
      const after = Number(await (await runtime.call('/api/calm')).text());
      expect(after).not.toBe(before);
      await eventually(() => expect(runtime.workers).toEqual([after])); // the replacement may serve before it is gone
      expect((await readiness(runtime)).status).toBe(200);
    }));
});

describe('the banner of drover up', () => {
  it.each([
    ['with nothing to run', {}, /broken-missing-main is not served: .*dist\/src\/index\.js/s],
    [
      'whose workers all die',
      { DROVER_WORKER_COMMAND: 'node -e "throw new Error(`no such library`)" --' },
      /hello-app is not served: .*no such library/s,
    ],
  ])('shows an application %s, with the reason', (_, env, expected) =>
    withDataDirectory(async (directory, started) => {
      const args = ['--app', helloApp, '--app', app('broken-missing-main')];
      const up = started(startUp(directory, { args, env }));
      await up.line(/Press Ctrl-C to stop/);
      expect(up.stdout.join('\n')).toMatch(expected);
    }),
  );
});

describe('readiness', () => {
  it('is refused while every worker dies at its start, with the reason, which callers get too', () =>
    withRuntime(
      { apps: [helloApp], workerCommand: 'node -e "throw new Error(`no such library`)" --' },
      async (runtime) => {
        const { status, problems } = await readiness(runtime);
        expect(status).toBe(503);
        expect(problems['application hello-app']).toContain('no such library');
        const { status: answered, text } = await answerOf(() => runtime.call('/api/hello/you'));
        expect([answered, text]).toEqual([503, expect.stringContaining('no such library')]);
        expect(startedWorkers(runtime.child).length).toBeGreaterThan(2);
      },
    ));

  it('is refused for an application with nothing to run, with the reason, which callers get too', () =>
    withRuntime({ apps: [app('broken-missing-main')] }, async (runtime) => {
      const { status, problems } = await readiness(runtime);
      expect(status).toBe(503);
      expect(problems['application broken-missing-main']).toContain('dist/src/index.js');
      const { status: answered, text } = await answerOf(() => runtime.call('/api/hello'));
      expect([answered, text]).toEqual([503, expect.stringContaining('dist/src/index.js')]);
    }));

  it('is given while another application is served, and the broken one is reported', () =>
    withRuntime({ apps: [app('broken-missing-main'), helloApp] }, async (runtime) => {
      const { status, problems } = await readiness(runtime);
      expect(status).toBe(200);
      expect(Object.keys(problems)).toEqual(['application broken-missing-main']);
    }));
});
