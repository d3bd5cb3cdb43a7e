import { describe, expect, it } from 'vitest';
import { saysStopping } from './shutdown-watch.js';

const lines = ['4711', '/data/cluster', '1763395200', '5432', '/run', '', '  1234  5678'];

describe('saysStopping', () => {
  it('reads the state of a server from its postmaster.pid', () => {
    expect(saysStopping([...lines, 'stopping'].join('\n'))).toBe(true);
    expect(saysStopping([...lines, 'ready   '].join('\n'))).toBe(false);
    expect(saysStopping([...lines, 'starting', ''].join('\n'))).toBe(false);
  });

  it('takes a file that is being written for a server that runs', () => {
    expect(saysStopping('')).toBe(false);
    expect(saysStopping(lines.join('\n'))).toBe(false);
  });
});
