import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { DataDirectory } from './data-directory.js';
import { collectionWorkerProgram, functionWorkerProgram } from './function-workers.js';

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

describe('the collection workers that the scale controller starts', () => {
  it('run as those of drover up do: with its files, on a free port, with a log as lines of JSON', () => {
    const lines: string[] = [];
    const configured = {
      DATABASE_URL: 'postgres://secret',
      DROVER_COLLECTION_WORKER_PORT: '7073',
      WORKER_URL: 'http://one',
    };
    const program = collectionWorkerProgram(configured, new DataDirectory('/data'), (line) => void lines.push(line));
    expect(program.command.args.at(-1)).toMatch(/collection-worker-main\.js$/);
    expect(program.environment).toMatchObject({
      DATABASE_URL_FILE: '/data/database-url',
      CONTROL_PLANE_URL_FILE: '/data/control-plane-url',
      DROVER_WORKER_JOIN_KEY_FILE: '/data/worker-join-key',
      DROVER_COLLECTION_WORKER_PORT: '0',
      DROVER_LOG_FORMAT: 'json',
    });
    expect(program.environment).not.toHaveProperty('DATABASE_URL');
    expect(program.environment).not.toHaveProperty('WORKER_URL');
    program.print?.('{}');
    expect(lines).toEqual(['{}']);
  });
});
