import { describe, expect, it } from 'vitest';
import { formatLogLine, parseLogLine } from './log-lines.js';

describe('log lines for people', () => {
  it('show process and message, and mark warnings and errors', () => {
    const line = JSON.stringify({ level: 'warn', process: 'platform', msg: 'lost the connection' });
    expect(formatLogLine(parseLogLine(line, 'other'))).toBe('platform   warning: lost the connection');
    const calm = JSON.stringify({ level: 'info', process: 'up', msg: 'ready' });
    expect(formatLogLine(parseLogLine(calm, 'other'))).toBe('up         ready');
  });

  it.each(['FATAL ERROR: heap out of memory', '{"half a line', '42', 'null'])(
    'show %s as it is: a crash has no shape',
    (line) => {
      expect(formatLogLine(parseLogLine(line, 'platform'))).toBe(`platform   error: ${line}`);
    },
  );
});
