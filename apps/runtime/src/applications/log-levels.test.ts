import { describe, expect, it } from 'vitest';
import { LogLevels } from './log-levels.js';

const logging = {
  logLevel: {
    default: 'Warning',
    Function: 'Error',
    'Function.hello': 'Information',
    'Function.hello.User': 'Debug',
    'Host.Results': 'None',
  },
};

describe('LogLevels', () => {
  it.each([
    ['Function.hello.User', 'debug', true],
    ['Function.hello', 'debug', false],
    ['Function.hello', 'info', true],
    ['function.HELLO', 'info', true],
    ['Function.other', 'warn', false],
    ['Function.other.User', 'error', true],
    ['Host.Results', 'error', false],
    ['Worker', 'info', false],
    ['Worker', 'warn', true],
  ] as const)('lets the longest matching category decide: %s at %s', (category, level, permitted) => {
    expect(new LogLevels(logging).permits(category, level)).toBe(permitted);
  });

  it.each([undefined, {}, { logLevel: {} }, { LogLevel: null }, 'nonsense'])('is not configured by %j', (given) => {
    const levels = new LogLevels(given);
    expect(levels.isConfigured).toBe(false);
    expect([levels.permits('Function.x', 'info'), levels.permits('Function.x', 'debug')]).toEqual([true, false]);
  });

  it('names levels that do not exist, and ignores them', () => {
    const levels = new LogLevels({ logLevel: { default: 'loud', Function: 7, Worker: 'debug' } });
    expect(levels.problems).toEqual([
      expect.stringContaining('logging.logLevel.default is "loud" and is ignored'),
      expect.stringContaining('logging.logLevel.Function is 7 and is ignored'),
    ]);
    expect(levels.permits('Worker', 'debug')).toBe(true);
  });
});
