import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { parseUpConfig, withFlags, withLocalHttpPort } from './config.js';

describe('the configuration of drover up', () => {
  it('turns function keys off on loopback only', () => {
    expect(parseUpConfig(withFlags({}, {})).functionKeys).toBe('on');
    expect(parseUpConfig(withFlags({}, { noKeys: true })).functionKeys).toBe('off');
    expect(() => parseUpConfig(withFlags({}, { noKeys: true, host: '0.0.0.0' }))).toThrow('DROVER_FUNCTION_KEYS');
    expect(() => parseUpConfig({ DROVER_FUNCTION_KEYS: 'off', DROVER_HOST: '10.0.0.1' })).toThrow('DROVER_HOST');
  });

  it('watches the files of applications when it is told to', () => {
    expect(parseUpConfig(withFlags({}, {})).hotReload).toBe('off');
    expect(parseUpConfig(withFlags({}, { watch: true })).hotReload).toBe('on');
  });

  it('gives the debug port to a worker with functions: with --inspect none waits for an application', () => {
    expect(withFlags({ DROVER_PLACEHOLDERS_MIN: '2' }, { inspect: 9229 })).toMatchObject({
      languageWorkers__node__arguments: '--inspect=9229',
      DROVER_PLACEHOLDERS_MIN: '0',
      DROVER_PLACEHOLDERS_MAX: '0',
    });
  });

  it('runs only the functions, and answers the pages, that the command line names, as with func start', () => {
    const flags = { functions: ['a', 'b'], cors: 'http://localhost:5173', corsCredentials: true };
    expect(parseUpConfig(withFlags({}, flags))).toMatchObject({
      functionsOnly: 'a,b',
      corsOrigins: ['http://localhost:5173'],
      corsCredentials: 'on',
    });
  });

  it('has the port of local.settings.json unless another is given', async () => {
    await withScratchDirectory(async (directory) => {
      const apps = ['none', 'broken', 'hello', 'other'].map((name) => path.join(directory, name));
      for (const app of apps) await mkdir(app);
      const [, broken = '', hello = '', other = ''] = apps;
      await writeFile(path.join(broken, 'local.settings.json'), '{');
      await writeFile(path.join(hello, 'local.settings.json'), '{ "Host": { "LocalHttpPort": 7171 } }');
      await writeFile(path.join(other, 'local.settings.json'), '{ "Host": { "LocalHttpPort": 7272 } }');
      const environment = withFlags({}, { app: apps });
      expect(parseUpConfig(await withLocalHttpPort(environment)).port).toBe(7171);
      expect(parseUpConfig(await withLocalHttpPort(withFlags(environment, { port: 8080 }))).port).toBe(8080);
      expect(await withLocalHttpPort({})).toEqual({});
    });
  });

  it('listens for function workers on loopback and a free port, whatever the public port is', () => {
    for (const flags of [{}, { port: 0 }, { port: 8080 }])
      expect(parseUpConfig(withFlags({}, flags))).toMatchObject({ rpcHost: '127.0.0.1', rpcPort: 0 });
    expect(parseUpConfig(withFlags({ DROVER_RPC_PORT: '50051' }, { port: 0 })).rpcPort).toBe(50_051);
  });
});
