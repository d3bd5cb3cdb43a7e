import { describe, expect, it } from 'vitest';
import { connectOutcomeOf } from './readiness.js';

const withCode = (code: string): Error => Object.assign(new Error('no'), { code });

describe('connectOutcomeOf', () => {
  it.each([
    ['57P03', 'starting'],
    ['53300', 'open'],
    ['3D000', 'no such database'],
    ['28P01', 'refused'],
    ['58P01', 'refused'],
    ['EACCES', 'refused'],
    ['57P01', 'closed'],
    ['08006', 'closed'],
    ['ENOENT', 'closed'],
    ['ECONNREFUSED', 'closed'],
    ['EPIPE', 'closed'],
  ])('reads %s as %s', (code, answer) => {
    expect(connectOutcomeOf(withCode(code))).toBe(answer);
  });

  it('reads a broken or slow connection, which has no code, as closed', () => {
    expect(connectOutcomeOf(new Error('timeout expired'))).toBe('closed');
  });
});
