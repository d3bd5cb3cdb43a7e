import { describe, expect, it } from 'vitest';
import { Health, processStates } from './health.js';

describe('Health', () => {
  it('is ready exactly while the process is ready and no check objects', () => {
    const health = new Health();
    let problem: string | undefined;
    health.addCheck('database', () => problem);
    expect(health.isReady()).toBe(false);
    health.move('ready');
    expect(health.isReady()).toBe(true);
    problem = 'no connection since 5 s';
    expect(health.isReady()).toBe(false);
    expect(health.report()).toEqual({ status: 'unready', problems: { database: 'no connection since 5 s' } });
    problem = undefined;
    expect(health.isReady()).toBe(true);
    health.move('draining');
    expect(health.isReady()).toBe(false);
    expect(health.report()).toEqual({ status: 'draining', problems: {} });
  });

  it('reports every problem, and takes a check that throws for one', () => {
    const health = new Health();
    health.addCheck('a', () => 'tired');
    health.addCheck('b', () => {
      throw new Error('cannot tell');
    });
    health.addCheck('c', () => undefined);
    health.move('ready');
    expect(health.report().problems).toEqual({ a: 'tired', b: 'cannot tell' });
    expect(health.isReady()).toBe(false);
  });

  it('reports a notice, and is ready all the same', () => {
    const health = new Health();
    health.addNotice('application a', () => 'it has no functions');
    health.move('ready');
    expect(health.isReady()).toBe(true);
    expect(health.report()).toEqual({ status: 'ready', problems: { 'application a': 'it has no functions' } });
  });

  it('reports the problems of a part, and is ready if the part says so', () => {
    const health = new Health();
    let part = { isReady: true, problems: { 'application a': 'no worker' } };
    health.addPart(() => part);
    health.addPart(() => ({ isReady: true, problems: {} }));
    health.move('ready');
    expect(health.isReady()).toBe(true);
    part = { ...part, isReady: false };
    expect(health.isReady()).toBe(false);
    expect(health.report()).toEqual({ status: 'unready', problems: { 'application a': 'no worker' } });
  });

  it('replaces a check of the same name', () => {
    const health = new Health();
    health.addCheck('a', () => 'old');
    health.addCheck('a', () => undefined);
    expect(health.report().problems).toEqual({});
  });

  it('reports each move once and refuses to go back', () => {
    const moves: string[] = [];
    const health = new Health(({ from, to }) => moves.push(`${from}>${to}`));
    health.move('ready');
    health.move('draining');
    expect(() => health.move('ready')).toThrow('process cannot go from draining to ready');
    health.move('stopped');
    expect(moves).toEqual(['starting>ready', 'ready>draining', 'draining>stopped']);
  });

  it('can be stopped from everywhere, and from there goes nowhere', () => {
    for (const state of processStates.all) expect(processStates.canMove(state, 'stopped')).toBe(state !== 'stopped');
    expect(processStates.isFinal('stopped')).toBe(true);
  });
});
