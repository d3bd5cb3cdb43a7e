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

  it('wants a token for the scale link, TLS beyond this machine, and no folders beside it', () => {
    const parse = (more: Record<string, string>) => () =>
      parseRuntimeConfig({ DROVER_SCALE_LINK_URL: 'http://127.0.0.1:7', DROVER_SCALE_LINK_TOKEN: 't', ...more });
    expect(parse({})().scaleLinkUrl).toBe('http://127.0.0.1:7');
    expect(parse({ DROVER_SCALE_LINK_TOKEN: '' })).toThrow('DROVER_SCALE_LINK_TOKEN is required');
    expect(parse({ DROVER_SCALE_LINK_URL: 'tcp://127.0.0.1:7' })).toThrow('tcp://127.0.0.1:7, which is not an http');
    expect(parse({ DROVER_SCALE_LINK_URL: 'http://10.0.0.1:7' })).toThrow('http://10.0.0.1:7 without TLS');
    expect(parse({ DROVER_SCALE_LINK_URL: 'https://10.0.0.1:7' })).toThrow('DROVER_SCALE_LINK_TLS_DIR is required');
    expect(parse({ DROVER_FUNCTIONS_APPS: '/app' })).toThrow('DROVER_FUNCTIONS_APPS must be empty');
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
