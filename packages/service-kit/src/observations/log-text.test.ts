import { describe, expect, it } from 'vitest';
import { toLogText } from './log-text.js';

const plain = { colors: false, showsInternals: false };
const at = new Date(2030, 0, 1, 9, 5, 7, 42).toISOString();

function line(fields: object): string {
  return JSON.stringify({ level: 'info', time: at, process: 'platform', msg: 'ready', ...fields });
}

describe('toLogText', () => {
  it('shows time, process and message, and marks warnings and errors', () => {
    expect(toLogText(line({}), 'other', plain)).toBe('09:05:07.042 platform   ready');
    expect(toLogText(line({ level: 'warn', msg: 'lost' }), 'other', plain)).toBe(
      '09:05:07.042 platform   warning: lost',
    );
    expect(toLogText(line({ level: 'error', msg: 'lost' }), 'other', plain)).toBe(
      '09:05:07.042 platform   error: lost',
    );
  });

  it('shows the function and a short id where a line is about a call', () => {
    const call = { function: 'hello', invocationId: '00000000-0000-4000-8000-00003f2a9c1d', msg: 'greeting you' };
    expect(toLogText(line(call), 'other', plain)).toBe('09:05:07.042 hello 3f2a9c1d greeting you');
  });

  it('leaves out what is for operators, unless it is asked for or a problem', () => {
    const internal = { audience: 'operator' };
    expect(toLogText(line(internal), 'other', plain)).toBeUndefined();
    expect(toLogText(line({ ...internal, level: 'warn' }), 'other', plain)).toContain('warning: ready');
    expect(toLogText(line(internal), 'other', { ...plain, showsInternals: true })).toContain('ready');
  });

  it('uses colours only when told to', () => {
    const red = toLogText(line({ level: 'error' }), 'other', { ...plain, colors: true });
    expect(red).toContain('\u001B[31merror: ready');
    expect(toLogText(line({ level: 'error' }), 'other', plain)).not.toContain('\u001B');
  });

  it.each(['FATAL ERROR: heap out of memory', '{"half a line', '42', 'null', '{"level":"info"}'])(
    'shows %s as it is: a crash has no shape',
    (crash) => {
      expect(toLogText(crash, 'platform', plain)).toBe(`platform   error: ${crash}`);
    },
  );
});
