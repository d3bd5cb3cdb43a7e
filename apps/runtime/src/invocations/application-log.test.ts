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

  it('logs what is of the level debug only where host.json has that level', () => {
    const waited = (isColdStart: boolean): FunctionInvocationObservation => ({
      kind: 'invocation.waited',
      function: 'hello',
      invocationId: 'i',
      isColdStart,
      waitedMs: 1,
      stepsMs: { decided: 0, process: 0, connect: 0, reload: 0, load: 0, queued: 1, run: 0 },
      trace: undefined,
      endedAt: 0,
      isFailed: false,
    });
    const ofWorker: FunctionInvocationObservation = {
      kind: 'worker.log',
      workerId: 'w',
      function: undefined,
      invocationId: undefined,
      line: { level: 'info', category: 'Worker', text: 'x', invocationId: undefined, isUser: false },
    };
    for (const debug of [waited(false), ofWorker]) {
      expect(wayOf({ default: 'Information' }, debug)).toBe('not');
      expect(wayOf({ default: 'Debug' }, debug)).toBe('fully');
    }
    expect(wayOf({ default: 'Information' }, waited(true))).toBe('fully');
  });

  it('leaves the lines of the platform alone', () => {
    const stray: FunctionInvocationObservation = { kind: 'invocation.stray', workerId: 'w', invocationId: 'i' };
    expect(wayOf({ default: 'None' }, stray)).toBe('as configured');
  });
});
