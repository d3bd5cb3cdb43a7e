import { describe, expect, it } from 'vitest';
import { LogLevels } from '../applications/log-levels.js';
import { observeWithLevels } from './application-log.js';
import type { FunctionInvocationObservation } from './invocation-observations.js';

const routed: FunctionInvocationObservation = {
  kind: 'invocation.routed',
  function: 'hello',
  invocationId: 'i',
  workerId: 'w',
};
const ended = (outcome: 'succeeded' | 'failed'): FunctionInvocationObservation => ({
  kind: 'invocation.ended',
  function: 'hello',
  invocationId: 'i',
  outcome,
  code: undefined,
  durationMs: 1,
});
const said = (level: 'debug' | 'info'): FunctionInvocationObservation => ({
  kind: 'worker.log',
  workerId: 'w',
  function: 'hello',
  invocationId: 'i',
  line: { level, category: 'Function.hello.User', text: 'x', invocationId: 'i', isUser: true },
});

/** How an observation is logged with these levels. */
function wayOf(logLevel: object, observation: FunctionInvocationObservation): string {
  let way = '';
  observeWithLevels(new LogLevels({ logLevel }), {
    observe: () => (way = 'as configured'),
    quietly: () => (way = 'not'),
    fully: () => (way = 'fully'),
  })(observation);
  return way;
}

describe('observeWithLevels', () => {
  it('changes nothing where host.json has no levels', () => {
    for (const one of [routed, ended('failed'), said('debug')]) expect(wayOf({}, one)).toBe('as configured');
  });

  it('logs calls, failures and lines of functions by their category', () => {
    const warning = { default: 'Warning', 'Function.hello.User': 'Debug' };
    expect(wayOf(warning, routed)).toBe('not');
    expect(wayOf(warning, ended('succeeded'))).toBe('not');
    expect(wayOf(warning, ended('failed'))).toBe('fully');
    expect(wayOf(warning, said('debug'))).toBe('fully');
    expect(wayOf({ 'Function.hello': 'None' }, ended('failed'))).toBe('not');
    expect(wayOf({ Function: 'Information' }, said('debug'))).toBe('not');
  });

  it('leaves the lines of the platform alone', () => {
    const stray: FunctionInvocationObservation = { kind: 'invocation.stray', workerId: 'w', invocationId: 'i' };
    expect(wayOf({ default: 'None' }, stray)).toBe('as configured');
  });
});
