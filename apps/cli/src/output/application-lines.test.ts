import type { ApplicationVersionView, ApplicationView, ScalingView } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { renderApplication, renderApplications } from './application-lines.js';
import { renderScaling } from './scaling-lines.js';

const [older, newer] = ['c0000000000000001', 'c0000000000000002'];

const version = (name: string, given: Partial<ApplicationVersionView> = {}): ApplicationVersionView => ({
  version: name,
  metadataVersion: 'm1',
  trafficPercent: 0,
  source: { kind: 'payload', digest: 'abcdef0123456789'.repeat(4), bytes: 10 },
  functions: [{ name: 'hello', trigger: 'httpTrigger', isDisabled: false }],
  problems: [],
  settingNames: [],
  deployedAt: '2030-01-01T00:00:00.000Z',
  isRolledBack: false,
  ...given,
});

const application = (given: Partial<ApplicationView> = {}): ApplicationView => ({
  name: 'hello',
  state: 'active',
  generation: 3,
  versions: [version(older, { trafficPercent: 10, isRolledBack: true }), version(newer, { trafficPercent: 90 })],
  traffic: { [older]: 10, [newer]: 90 },
  scaling: { maxWorkers: 4 },
  rollback: {},
  ...given,
});

describe('applications on the command line', () => {
  it('have a line each, the largest share first', () => {
    const empty = application({ name: 'a', versions: [], traffic: {}, state: 'deleting' });
    expect(renderApplications([application(), empty])).toEqual([
      `hello  ${newer} 90 %, ${older} 10 %  2 versions  1 function`,
      `a      no traffic                                      0 versions  0 functions  deleting`,
    ]);
  });

  it('show versions newest first, their problems and the last changes', () => {
    const broken = version(newer, {
      source: { kind: 'folder', directory: '/apps/hello', isWatched: true },
      problems: [{ functionName: 'broken', problem: 'its connection is not set' }],
    });
    const change = {
      generation: 3,
      at: '2030-01-01T00:00:05.000Z',
      kind: 'rolled-back-automatically',
      traffic: { [newer]: 100 },
      reason: '40 % of the calls failed',
    } as const;
    expect(renderApplication(application({ versions: [version(older), broken] }), [change])).toEqual([
      'hello',
      '  scaling: maxWorkers 4',
      `  ${newer}    0 %  2030-01-01T00:00:00.000Z  1 function  /apps/hello`,
      `  ${older}    0 %  2030-01-01T00:00:00.000Z  1 function  payload abcdef012345`,
      `  ${newer} broken: its connection is not set`,
      '  last changes:',
      `    2030-01-01T00:00:05.000Z  rolled-back-automatically  ${newer} 100 %  40 % of the calls failed`,
    ]);
  });
});

describe('scaling on the command line', () => {
  it('answers why there are so many workers', () => {
    const view: ScalingView = {
      application: 'hello',
      workers: { desired: 3, ready: 1, starting: 2, draining: 0 },
      why: '40 messages wait, and one worker takes 16.',
      scaling: { minWorkers: 0, maxWorkers: 3, idleMs: 300_000, isPredictive: true },
      decisions: [
        {
          at: '2030-01-01T00:00:00.000Z',
          until: '2030-01-01T00:00:09.000Z',
          count: 10,
          desired: 3,
          previous: 1,
          cause: 'max',
          reason: '40 messages wait',
          isPanic: true,
          proposals: [
            { rule: 'target', vote: 'up', workers: 4, text: '40 messages, 16 for each' },
            { rule: 'cpu', vote: 'keep', workers: 1, text: '20 % of a core' },
          ],
          clamps: [{ clamp: 'max', from: 4, to: 3, text: 'at most 3' }],
          facts: {},
          isReproducible: true,
        },
      ],
    };
    expect(renderScaling(view, 5)).toEqual([
      'hello has 1 function worker ready, 3 wanted, 2 starting.',
      '40 messages wait, and one worker takes 16.',
      '4 are needed, and the limit is 3 workers. Raise it with: drover scaling hello --max-workers 4',
      '',
      'Last decisions, newest first:',
      '  2030-01-01T00:00:00.000Z  1 → 3 (panic), 10 times until 2030-01-01T00:00:09.000Z: 40 messages wait',
      '      target  up    4 workers  40 messages, 16 for each',
      '      cpu     keep  1 worker   20 % of a core',
      '      limit max: 4 → 3, at most 3',
    ]);
    expect(renderScaling(view, 0)).toHaveLength(3);
    const workers = { desired: 3, ready: 3, starting: 0, draining: 1 };
    expect(renderScaling({ ...view, workers, decisions: [] }, 5)).toEqual([
      'hello has 3 function workers ready, 1 draining.',
      '40 messages wait, and one worker takes 16.',
      'Limits: 0 to 3 workers. Change them with: drover scaling hello --min-workers N --max-workers N',
    ]);
  });

  it('says that an application without workers is parked', () => {
    const view: ScalingView = {
      application: 'hello',
      workers: { desired: 0, ready: 0, starting: 0, draining: 0 },
      why: '0 workers, before 1: depth wants 0 (no event waits, idle for 301 s)',
      scaling: { minWorkers: 0, maxWorkers: 3, idleMs: 300_000, isPredictive: true },
      decisions: [],
    };
    expect(renderScaling(view, 5).slice(0, 2)).toEqual([
      'hello has no function worker: it is parked, and its next event starts one.',
      '0 workers, before 1: depth wants 0 (no event waits, idle for 301 s)',
    ]);
  });
});
