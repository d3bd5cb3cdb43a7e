import { Child, eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { FunctionsClient, killRole, report, times } from '../support/executions.js';
import { helloApp, ordersApp } from '../support/functions.js';
import { drover, processesOf, readyLine, startUp, withDataDirectory } from '../support/platform.js';

describe('functions of an application, called through /v1', () => {
  it('are listed, invoked and enqueued, and tried again when their runtime is killed', () =>
    withDataDirectory(async (directory, started) => {
      const up = started(
        startUp(directory, {
          args: ['--json', '--app', helloApp, '--app', ordersApp],
          // More than a slow machine takes to start a runtime.
          env: { DEFAULT_MAX_RETRIES: '30' },
        }),
      );
      const ready = await readyLine(up);
      const api = await FunctionsClient.of(ready);

      // The applications are deployed one after the other.
      await eventually(async () =>
        expect(await api.functions()).toEqual(
          expect.arrayContaining([
            expect.objectContaining({
              name: 'hello',
              executionMode: 'APP',
              application: 'hello-app',
              trigger: 'httpTrigger',
            }),
            expect.objectContaining({ name: 'takeOrder', executionMode: 'APP', trigger: 'queueTrigger' }),
          ]),
        ),
      );

      // The function takes text, and answers with JSON.
      expect(await api.invoke('hello', 'you')).toMatchObject({
        status: 200,
        body: { status: 'success', statusCode: 200, output: { hello: '"you"' } },
      });
      const enqueued = await api.accepted('hello', 'them');
      expect(await api.ended(enqueued)).toMatchObject({
        status: 'success',
        statusCode: 200,
        output: { hello: '"them"' },
        attempts: 1,
      });

      // The same from the command line.
      const say = async (...args: string[]): Promise<string> => {
        const child = started(new Child(process.execPath, [drover, ...args, '--data-dir', directory]));
        expect(await child.exited).toMatchObject({ code: 0 });
        return child.stdout.join('\n');
      };
      expect(await say('functions', 'list')).toMatch(/^hello +APP +hello-app$/m);
      expect(JSON.parse(await say('invoke', 'hello', '"you"'))).toEqual({ hello: '"you"' });
      const { executionId } = JSON.parse(await say('invoke', 'hello', '1', '--enqueue')) as { executionId: string };
      await api.ended(executionId);
      expect(JSON.parse(await say('execution', executionId))).toMatchObject({
        status: 'success',
        output: { hello: '1' },
      });

      // Frozen first: so the calls are under way when it dies, and not before or after.
      const runtime = ready.pids['runtime-1'] ?? Number.NaN;
      process.kill(runtime, 'SIGSTOP');
      const ids = await api.acceptedBatch('hello', times(4, { input: 'all' }));
      await eventually(async () => {
        for (const id of ids) expect((await api.execution(id)).status).toBe('running');
      });
      const { killedMs, next } = killRole(up, 'runtime-1');
      const { readyMs } = await next();
      const again: number[] = [];
      for (const id of ids) {
        const { status, statusCode, attempts, attemptLog, finishedAt } = await api.ended(id);
        expect({ status, statusCode }).toEqual({ status: 'success', statusCode: 200 });
        expect(attempts).toBeGreaterThan(1);
        expect(attemptLog[0]).toMatchObject({ attempt: 1, error: { code: 'APP_UNAVAILABLE' } });
        again.push(Date.parse(finishedAt ?? '') - killedMs);
      }
      report('runtime killed', { readyMs: readyMs - killedMs, endedMs: Math.max(...again) });

      up.kill('SIGTERM');
      expect(await up.exited).toEqual({ code: 0, signal: null });
      expect(processesOf(directory)).toEqual([]);
    }));
});
