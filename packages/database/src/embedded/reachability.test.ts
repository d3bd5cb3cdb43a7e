import { describe, expect, it } from 'vitest';
import { describeClosed, firstClosed, mayExecute, type PathFacts } from './reachability.js';

const server = { uid: 101, gid: 104 };
const facts = (path: string, mode: number, uid = 0, gid = 0): PathFacts => ({ path, uid, gid, mode: 0o040000 | mode });

describe('reachability', () => {
  it('finds no closed directory if all users may search the path', () => {
    expect(firstClosed([facts('/', 0o755), facts('/var', 0o711)], server)).toBeUndefined();
  });

  it('names the first directory that keeps the user out', () => {
    const way = [facts('/', 0o755), facts('/root', 0o700), facts('/root/x', 0o700)];
    expect(firstClosed(way, server)?.path).toBe('/root');
  });

  it('does not take the right to read for the right to search', () => {
    expect(firstClosed([facts('/listed', 0o744)], server)?.path).toBe('/listed');
  });

  it('lets in the owner and the group of a directory that is closed to others', () => {
    expect(firstClosed([facts('/mine', 0o700, 101)], server)).toBeUndefined();
    expect(firstClosed([facts('/ours', 0o710, 0, 104)], server)).toBeUndefined();
  });

  it('keeps out an owner or a group that has fewer rights than others', () => {
    expect(firstClosed([facts('/mine', 0o077, 101)], server)?.path).toBe('/mine');
    expect(firstClosed([facts('/ours', 0o707, 0, 104)], server)?.path).toBe('/ours');
  });

  it('wants both reading and executing of a program', () => {
    expect(mayExecute(facts('/bin/postgres', 0o755), server)).toBe(true);
    expect(mayExecute(facts('/bin/postgres', 0o711), server)).toBe(false);
    expect(mayExecute(facts('/bin/postgres', 0o644), server)).toBe(false);
  });

  it('says the mode as people write it', () => {
    expect(describeClosed(facts('/root', 0o700))).toBe('/root (mode 0700)');
  });
});
