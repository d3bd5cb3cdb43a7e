import { Child } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { commandLineOf, isRunning, parseStat, pidExists, processesNamed, startTimeOf } from './processes.js';

const onLinux = process.platform === 'linux';

describe('processes', () => {
  it('reads a stat line whose command holds blanks and parentheses', () => {
    const line = `42 (a) b (c) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1000 100 18446744073709551615`;
    expect(parseStat(line)).toEqual({ state: 'S', startTime: '987654' });
    expect(parseStat('42 (a) S 1')).toBeUndefined();
  });

  it('knows this process', async () => {
    expect(pidExists(process.pid)).toBe(true);
    expect(isRunning(process.pid)).toBe(true);
    expect(await commandLineOf(process.pid)).toContain('node');
  });

  it('sees a process from its start to its end', async () => {
    const child = new Child('/bin/sh', ['-c', 'echo up; exec sleep 600']);
    await child.line(/up/);
    expect(isRunning(child.pid)).toBe(true);
    await child.end();
    expect(isRunning(child.pid)).toBe(false);
    expect(await commandLineOf(child.pid)).toBe('');
  });

  it.runIf(onLinux)('tells apart two processes by their start time', () => {
    expect(startTimeOf(process.pid)).toMatch(/^\d+$/);
    expect(startTimeOf(process.pid)).not.toBe(startTimeOf(1));
  });

  it.runIf(onLinux)('finds processes by the beginning of their command', async () => {
    const named = new Child('sleep', ['600'], { argv0: 'postgres: test-4711: sleeper' });
    try {
      expect(processesNamed('postgres: test-4711: ')).toEqual([named.pid]);
      expect(processesNamed('test-4711')).toEqual([]);
    } finally {
      await named.end();
    }
  });
});
