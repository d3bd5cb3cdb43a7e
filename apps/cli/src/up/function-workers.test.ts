import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { functionWorkerProgram } from './function-workers.js';

describe('the function workers of drover up', () => {
  it("run Drover's Node.js worker in an environment without the secrets of the platform", () => {
    const { command, environment, directory } = functionWorkerProgram(
      { PATH: '/bin', DATABASE_URL: 'postgres://secret', DROVER_FUNCTIONS_MASTER_KEY: 'secret', MY_SETTING: '1' },
      '/work',
    );
    expect(command.executable).toBe(process.execPath);
    expect(command.args).toHaveLength(1);
    expect(command.args[0]).toMatch(/node-worker\.js$/);
    expect(environment).toMatchObject({ PATH: '/bin', MY_SETTING: '1' });
    expect(JSON.stringify(environment)).not.toContain('secret');
    expect(directory).toBe(tmpdir());
  });

  it('run the command that is configured, with the options for its program before it', () => {
    const { command } = functionWorkerProgram(
      { DROVER_WORKER_COMMAND: 'node "my worker.js"', languageWorkers__node__arguments: '--inspect=9229' },
      '/work',
    );
    expect(command).toEqual({ executable: 'node', args: ['--inspect=9229', 'my worker.js'] });
  });
});
