import { hasCode } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { explainExit, isMemoryInUse } from './explain-exit.js';

const facts = {
  exit: { code: 1, signal: null },
  logFile: '/d/server.log',
  written: 'FATAL:  something is wrong\n',
  path: '/d',
  freeBytes: 1e9,
};

describe('explainExit', () => {
  it('names the log and shows its last lines', () => {
    const error = explainExit({ ...facts, written: `${'an old line\n'.repeat(50)}FATAL:  the reason\n` });
    expect(hasCode(error, 'EMBEDDED_POSTGRES_START_FAILED')).toBe(true);
    expect(error.message).toContain('exit code 1');
    expect(error.message).toContain('/d/server.log');
    expect(error.message).toMatch(/FATAL: {2}the reason$/);
    expect(error.message.split('\n').length).toBeLessThan(20);
  });

  it('names the signal that ended the server', () => {
    expect(explainExit({ ...facts, exit: { code: null, signal: 'SIGKILL' } }).message).toContain('ended by SIGKILL');
  });

  it('says that the disk is full when the server says so', () => {
    const written = 'FATAL:  could not write lock file "postmaster.pid": No space left on device';
    expect(hasCode(explainExit({ ...facts, written }), 'EMBEDDED_POSTGRES_DISK_FULL')).toBe(true);
  });

  it('says that the disk is full when the server could not even say so', () => {
    const error = explainExit({ ...facts, written: '', freeBytes: 0 });
    expect(hasCode(error, 'EMBEDDED_POSTGRES_DISK_FULL')).toBe(true);
  });

  it('knows the one complaint that passes by itself', () => {
    expect(isMemoryInUse('FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use')).toBe(true);
    expect(isMemoryInUse(facts.written)).toBe(false);
  });
});
