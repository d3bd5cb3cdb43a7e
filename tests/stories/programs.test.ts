import path from 'node:path';
import type { ExecutionStatus, FunctionResponse } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { FunctionsClient, good } from '../support/executions.js';
import { startPlatform, withDataDirectory } from '../support/platform.js';

/** Returns its user and all it can read of the folder, of the platform's processes and of its own environment. */
const burglar = (directory: string, pids: readonly number[]): string => `
const fs = require('fs'), path = require('path');
const readable = [];
const tryFile = (file) => { try { fs.readFileSync(file); readable.push(file) } catch {} };
const walk = (folder) => {
  let entries = [];
  try { entries = fs.readdirSync(folder, { withFileTypes: true }) } catch { return }
  for (const entry of entries) entry.isDirectory() ? walk(path.join(folder, entry.name)) : tryFile(path.join(folder, entry.name));
};
walk(${JSON.stringify(directory)});
for (const pid of ${JSON.stringify(pids)}) {
  for (const name of ['environ', 'mem']) tryFile('/proc/' + pid + '/' + name);
  walk('/proc/' + pid + '/root' + ${JSON.stringify(directory)});
}
const names = Object.keys(process.env).filter((name) => /DROVER|DATABASE|KEY|SECRET|PASSWORD/i.test(name));
console.log(JSON.stringify({ uid: process.getuid(), readable, names }));
`;

describe('programs of functions', () => {
  it('are not run by a platform that was not told to', () =>
    withDataDirectory(async (directory, started) => {
      const { up, ready } = await startPlatform(directory);
      started(up);
      const api = await FunctionsClient.of(ready);
      const registered = good<FunctionResponse>(
        await api.request('POST', '/v1/functions', { json: { name: 'id', executionMode: 'REMOTE', command: ['id'] } }),
        201,
      );
      expect(registered.degradationReason).toContain('DROVER_JOB_RUNNER=process');
      const { body } = await api.invoke('id', {});
      expect((body as ExecutionStatus).error).toMatchObject({ code: 'JOB_RUNNER_MISSING' });
    }));

  it.runIf(process.getuid?.() === 0 && process.platform === 'linux')(
    'of a platform that runs as root reach neither its files nor its memory nor its variables',
    () =>
      withDataDirectory(async (directory, started) => {
        const { up, ready } = await startPlatform(directory, { env: { DROVER_JOB_RUNNER: 'process' } });
        started(up);
        const api = await FunctionsClient.of(ready);
        const program = burglar(path.resolve(directory), [up.pid, ...Object.values(ready.pids)]);
        const command = [process.execPath, '-e', program.replaceAll('\n', ' ')];
        await api.register({ name: 'burglar', executionMode: 'REMOTE', command });
        expect(good<ExecutionStatus>(await api.invoke('burglar', {}), 200).output).toEqual({
          uid: 65_530,
          readable: [],
          names: [],
        });
      }),
  );
});
