import type { Instance, InstanceUsage } from '@drover/instance-provider';
import { describe, expect, it } from 'vitest';
import { policyOf } from '../decisions/policy.js';
import { seedRules } from '../decisions/seed-rules.js';
import { ScaleDecisions } from './scale-decisions.js';
import { UsageOfWorkers } from './usage-of-workers.js';

const instance = (instanceId: string, usage?: InstanceUsage): Instance => ({
  instanceId,
  role: 'function-worker',
  labels: {},
  state: 'running',
  startedAtMs: 0,
  ...(usage && { usage }),
});

describe('what function workers use', () => {
  it('is the mean CPU and the largest memory of those that were measured', () => {
    const usage = new UsageOfWorkers();
    usage.listed(
      [instance('a', { cpu: 0.2, memory: 0.5 }), instance('b', { cpu: 1, memory: 0.1 }), instance('c')],
      1_000,
    );
    expect(usage.of(['a', 'b', 'c'], 2_000)).toEqual({ cpu: 0.6, memory: 0.5 });
    expect(usage.of(['c'], 2_000)).toBeUndefined();
    expect(usage.of([], 2_000)).toBeUndefined();
  });

  it('is unknown when the list is old: unknown is not zero', () => {
    const usage = new UsageOfWorkers();
    usage.listed([instance('a', { cpu: 1, memory: 1 })], 1_000);
    expect(usage.of(['a'], 16_000)).toBeDefined();
    expect(usage.of(['a'], 16_001)).toBeUndefined();
  });

  it('makes the rule for CPU ask for more workers when the runtime knows none', () => {
    const application = 'default/hello';
    const decide = (usage: InstanceUsage | undefined) => {
      const decisions = new ScaleDecisions({ maxWorkers: 100, tenants: new Map() });
      decisions.adopt(application, 1, 0);
      const sample = {
        application,
        inFlight: 1,
        waiting: 0,
        capacity: 100,
        arrivals: 1,
        completions: 1,
        failures: 0,
        meanServiceMs: 10,
        p95ServiceMs: 10,
        versions: {},
        cpu: undefined,
        memory: undefined,
        isBackpressured: false,
        triggers: [],
      };
      decisions.sampled('runtime-1', { kind: 'sample', atMs: 1_000, memory: 0.1, applications: [sample] }, 1_000);
      const workers = { ready: 1, starting: 0, draining: 0 };
      const member = {
        application,
        tenantId: 'default',
        policy: policyOf({}),
        workers,
        runtimeId: 'runtime-1',
        usage,
        cores: 2,
      };
      const facts = decisions.decide([member], 1_000)[0]?.decision.facts;
      return facts && { cpu: facts.cpu, vote: seedRules.cpu.propose(facts, member.policy)?.vote };
    };
    expect(decide(undefined)).toEqual({ cpu: undefined, vote: undefined });
    expect(decide({ cpu: 0.95, memory: 0.1 })).toEqual({ cpu: 0.95, vote: 'up' });
  });
});
