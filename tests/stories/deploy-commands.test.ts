import { Child, eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { killRole } from '../support/executions.js';
import { helloApp, startedWorkers, workersOf } from '../support/functions.js';
import { drover, plainEnvironment, readyLine, startUp, withDataDirectory } from '../support/platform.js';

/** Runs a command against the platform of a data directory; returns what it printed. */
async function run(directory: string, ...argv: readonly string[]): Promise<string> {
  const command = new Child(process.execPath, [drover, ...argv, '--data-dir', directory], { env: plainEnvironment() });
  const { code } = await command.exited;
  if (code !== 0) throw new Error(`drover ${argv.join(' ')} failed:\n${command.output}`);
  return command.stdout.join('\n');
}

describe('an application that was deployed on the command line', () => {
  it('is called, explained, survives the kill of the platform process with its worker, and is removed', () =>
    withDataDirectory(async (directory, started) => {
      // Without a pool each process that is started is one of the application.
      const env = { DROVER_PLACEHOLDERS_MIN: '0', DROVER_PLACEHOLDERS_MAX: '0' };
      const up = started(startUp(directory, { args: ['--json', '--no-keys'], env }));
      const { public: url } = (await readyLine(up)).urls;
      const call = async (): Promise<number> => (await fetch(`${url}/api/hello/you`)).status;
      expect(await run(directory, 'deploy', helloApp, '--in-place', '--max-workers', '4')).toMatch(
        /^hello-app c[0-9a-f]{16} is deployed: 1 function\./,
      );
      expect(await call()).toBe(200);
      expect(await run(directory, 'scaling', 'hello-app')).toContain('Limits: 0 to 4 workers.');
      const workers = workersOf(up);
      expect(workers).toHaveLength(1);
      await killRole(up, 'platform').next();
      await eventually(async () => expect(await call()).toBe(200));
      expect(await run(directory, 'scaling', 'hello-app')).toMatch(/^hello-app has 1 function worker ready/);
      expect(startedWorkers(up)).toEqual(workers);
      expect(workersOf(up)).toEqual(workers);
      await run(directory, 'apps', 'remove', 'hello-app');
      await eventually(async () => expect(await run(directory, 'apps')).toBe(''));
      expect(await call()).toBe(404);
    }));
});
