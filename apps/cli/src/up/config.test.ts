import { describe, expect, it } from 'vitest';
import { parseUpConfig, withFlags } from './config.js';

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

  it('listens for function workers on loopback and a free port, whatever the public port is', () => {
    for (const flags of [{}, { port: 0 }, { port: 8080 }])
      expect(parseUpConfig(withFlags({}, flags))).toMatchObject({ rpcHost: '127.0.0.1', rpcPort: 0 });
    expect(parseUpConfig(withFlags({ DROVER_RPC_PORT: '50051' }, { port: 0 })).rpcPort).toBe(50_051);
  });
});
