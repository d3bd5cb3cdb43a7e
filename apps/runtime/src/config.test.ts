import { describe, expect, it } from 'vitest';
import { flagsToEnvironment } from './command-line.js';
import { parseRuntimeConfig } from './config.js';

describe('the configuration', () => {
  it('wants a master key where functions can be called from other machines', () => {
    expect(() => parseRuntimeConfig({ DROVER_RUNTIME_HOST: '0.0.0.0' })).toThrow('DROVER_FUNCTIONS_MASTER_KEY');
    const config = parseRuntimeConfig({ DROVER_RUNTIME_HOST: '0.0.0.0', DROVER_FUNCTIONS_MASTER_KEY: 'secret' });
    expect(config.masterKey?.reveal()).toBe('secret');
    expect(parseRuntimeConfig({}).masterKey).toBeUndefined();
  });

  it('wants keys of functions where they can be called from other machines', () => {
    const open = { DROVER_RUNTIME_HOST: '0.0.0.0', DROVER_FUNCTIONS_MASTER_KEY: 'secret', DROVER_FUNCTION_KEYS: 'off' };
    expect(() => parseRuntimeConfig(open)).toThrow('DROVER_FUNCTION_KEYS must be on');
    expect(parseRuntimeConfig({ DROVER_FUNCTION_KEYS: 'off' }).functionKeys).toBe('off');
    expect(parseRuntimeConfig({}).functionKeys).toBe('on');
  });

  it('lists every mistake at once', () => {
    const wrong = { DROVER_WORKERS: '0', DROVER_ROUTING: 'fastest', DROVER_HEARTBEAT_MISSES: 'few' };
    expect(() => parseRuntimeConfig(wrong)).toThrow(/DROVER_WORKERS[^]*DROVER_ROUTING[^]*DROVER_HEARTBEAT_MISSES/);
  });
});

describe('the command line', () => {
  it('stands for the environment', () => {
    const flags = flagsToEnvironment([
      '--functions-app',
      '/a',
      '--functions-app',
      '/b',
      '--workers',
      '3',
      '--hot-reload',
    ]);
    expect(flags).toEqual({ DROVER_FUNCTIONS_APPS: '/a:/b', DROVER_WORKERS: '3', DROVER_HOT_RELOAD: 'on' });
  });

  it('asks for help, and refuses what it does not know', () => {
    expect(flagsToEnvironment(['--help'])).toBeUndefined();
    expect(() => flagsToEnvironment(['--function-app', '/a'])).toThrow('--function-app');
  });
});
