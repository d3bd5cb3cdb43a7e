import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { killRole, report, startsOf } from '../support/executions.js';
import { app, helloApp } from '../support/functions.js';
import { currentPid, readyLine, startUp, withDataDirectory } from '../support/platform.js';
import { RecordsApi } from '../support/records-api.js';

/** True once the parent of a process has taken its exit status; `isAlive` is false before that. */
function isReaped(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

interface Readiness {
  readonly status: number;
  readonly says: string;
  readonly problems: Readonly<Record<string, string>>;
}

async function readiness(url: string): Promise<Readiness> {
  const answer = await fetch(`${url}/readyz`);
  const { status: says, problems } = (await answer.json()) as { readonly status: string } & Pick<Readiness, 'problems'>;
  return { status: answer.status, says, problems };
}

describe('the platform is ready', () => {
  it('not with an application that has nothing to run, which it names', () =>
    withDataDirectory(async (directory, started) => {
      const up = started(startUp(directory, { args: ['--json', '--app', app('broken-missing-main')] }));
      const { public: url } = (await readyLine(up)).urls;
      const { status, says, problems } = await readiness(url);
      expect([status, says]).toEqual([503, 'unready']);
      expect(problems['application broken-missing-main']).toContain('dist/src/index.js');
    }));

  it('once it says so, not while its runtime is away, and again when calls are served', () =>
    withDataDirectory(async (directory, started) => {
      const up = started(startUp(directory, { args: ['--json', '--app', helloApp] }));
      const { public: url } = (await readyLine(up)).urls;
      expect(await readiness(url)).toEqual({ status: 200, says: 'ready', problems: {} });
      const { next } = killRole(up, 'runtime-1');
      await eventually(async () => (await readiness(url)).status === 503);
      await next();
      await eventually(async () => (await readiness(url)).status === 200);
      expect((await fetch(`${url}/api/hello/you`)).status).toBe(200);
    }));

  it('not while all of its collection workers are frozen, and again when they go on', () =>
    withDataDirectory(async (directory, started) => {
      const up = started(startUp(directory, { args: ['--json'] }));
      const ready = await readyLine(up);
      const { public: url } = ready.urls;
      const api = await RecordsApi.of(ready);
      expect(
        (await api.post('/control/collections', { name: 'notes', fields: [{ name: 'text', type: 'string' }] })).status,
      ).toBe(201);
      expect((await api.get('/api/notes')).status).toBe(200);
      const workers = await eventually(() => {
        const pids = ['collection-worker-1', 'collection-worker-2'].map((role) => currentPid(up, role));
        expect(pids).not.toContain(Number.NaN); // the second one starts after the platform is ready
        return pids;
      });
      const signal = (name: NodeJS.Signals): void => workers.forEach((pid) => process.kill(pid, name));
      signal('SIGSTOP');
      try {
        await eventually(async () => {
          const { status, says, problems } = await readiness(url);
          expect([status, says]).toEqual([503, 'unready']);
          expect(Object.keys(problems).join()).toContain('collection worker');
        });
      } finally {
        signal('SIGCONT');
      }
      await eventually(async () => expect(await readiness(url)).toEqual({ status: 200, says: 'ready', problems: {} }));
    }));

  it('for requests that come while its runtime is killed: they wait, and each is answered', () =>
    withDataDirectory(async (directory, started) => {
      const up = started(startUp(directory, { args: ['--json', '--app', helloApp] }));
      const { public: url } = (await readyLine(up)).urls;
      const ask = async (): Promise<string> => {
        const answer = await fetch(`${url}/api/hello/you`, { headers: { connection: 'close' } });
        return answer.ok ? 'answered' : `${answer.status} ${await answer.text()}`;
      };
      expect(await ask()).toBe('answered');
      const killed = startsOf(up, 'runtime-1').at(-1)?.pid ?? 0;
      const { next } = killRole(up, 'runtime-1');
      // What it was running is lost with it, and answered with 502; so is what the platform sends it before it has seen its end. The
      // connections of a killed process are closed when its last thread has ended, and only then its parent can take its status.
      await eventually(() => isReaped(killed));
      await readiness(url);
      const back = next().then(() => 'back' as const);
      const asked: Promise<string>[] = [];
      do asked.push(ask());
      while ((await Promise.race([back, sleep(20)])) !== 'back');
      const answers = await Promise.all(asked);
      const others = answers.filter((answer) => answer !== 'answered');
      report('runtime killed', { requests: answers.length, answered: answers.length - others.length });
      expect(answers.length).toBeGreaterThan(5);
      expect(others).toEqual([]);
    }));
});
