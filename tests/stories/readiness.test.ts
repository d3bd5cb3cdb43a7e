import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { killRole, report, startsOf } from '../support/executions.js';
import { app, helloApp } from '../support/functions.js';
import { readyLine, startUp, withDataDirectory } from '../support/platform.js';

/** True once the parent of a process has taken its exit status; `isAlive` is false before that. */
function isReaped(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

async function readiness(url: string): Promise<{ status: number; problems: Readonly<Record<string, string>> }> {
  const answer = await fetch(`${url}/readyz`);
  const { problems } = (await answer.json()) as { readonly problems: Readonly<Record<string, string>> };
  return { status: answer.status, problems };
}

describe('the platform is ready', () => {
  it('not with an application that has nothing to run, which it names', () =>
    withDataDirectory(async (directory, started) => {
      const up = started(startUp(directory, { args: ['--json', '--app', app('broken-missing-main')] }));
      const { public: url } = (await readyLine(up)).urls;
      const { status, problems } = await readiness(url);
      expect(status).toBe(503);
      expect(problems['application broken-missing-main']).toContain('dist/src/index.js');
    }));

  it('once it says so, not while its runtime is away, and again when calls are served', () =>
    withDataDirectory(async (directory, started) => {
      const up = started(startUp(directory, { args: ['--json', '--app', helloApp] }));
      const { public: url } = (await readyLine(up)).urls;
      expect(await readiness(url)).toEqual({ status: 200, problems: {} });
      const { next } = killRole(up, 'runtime-1');
      await eventually(async () => (await readiness(url)).status === 503);
      await next();
      await eventually(async () => (await readiness(url)).status === 200);
      expect((await fetch(`${url}/api/hello/you`)).status).toBe(200);
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
