import { describe, expect, it } from 'vitest';
import { isChainBroken, launchChain, type ProcessFacts } from './launcher.js';

const node = '/opt/node/bin/node';
const table = (rows: Readonly<Record<number, Partial<ProcessFacts>>>) => (pid: number) => {
  const row = rows[pid];
  return row && { parent: 1, group: 10, name: 'node', executable: node, ...row };
};

describe('launchChain', () => {
  it('ends at npm, which started the process itself or through a shell', () => {
    const direct = table({ 30: { parent: 10 }, 10: { name: 'npm start' } });
    expect(launchChain(30, direct, node)).toEqual([30, 10]);
    const throughShell = table({ 30: { parent: 20 }, 20: { parent: 10, name: 'sh', executable: '/bin/dash' }, 10: {} });
    expect(launchChain(30, throughShell, node)).toEqual([30, 20, 10]);
  });

  it.each([
    ['is a job of an interactive shell', table({ 30: { parent: 20, group: 30 }, 20: { name: 'bash', group: 20 } })],
    ['was started by another program', table({ 30: { parent: 20 }, 20: { name: 'cron', executable: '/sbin/cron' } })],
    ['has outlived its parent', table({ 30: { parent: 1 }, 1: { group: 1, name: 'init' } })],
    ['is below more shells than npm starts', table({ 30: { parent: 20 }, 20: { parent: 20, name: 'sh' } })],
  ])('is undefined for a process that %s', (_, lookUp) => {
    expect(launchChain(30, lookUp, node)).toBeUndefined();
  });
});

describe('isChainBroken', () => {
  const parents: Readonly<Record<number, number>> = { 30: 20, 20: 10 };

  it('is false while every process has the parent it had', () => {
    expect(isChainBroken([30, 20, 10], (pid) => parents[pid])).toBe(false);
  });

  it.each([
    ['the shell died', { 30: 1, 20: 10 }],
    ['npm died behind the shell', { 30: 20, 20: 1 }],
    ['both died', { 30: 1 }],
  ])('is true when %s', (_, now: Readonly<Record<number, number>>) => {
    expect(isChainBroken([30, 20, 10], (pid) => now[pid])).toBe(true);
  });
});
