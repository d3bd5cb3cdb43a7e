import type { CollectionAssignmentView, CollectionWorkerView } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { runAnswered, type PlatformAnswer } from './answered-program.test.fixture.js';

const worker: CollectionWorkerView = {
  id: 'one',
  status: 'READY',
  isOverloaded: false,
  baseUrl: 'http://one:8080',
  podName: 'one-abc',
  namespace: 'shop',
  zone: 'z1',
  pool: 'default',
  capacity: 50,
  currentLoad: 1,
  labels: {},
  heartbeat: {
    cpu: 120.4,
    activeConnections: 3,
    requestRate: 42,
    latencyMs: 1.25,
    errorRate: 0.005,
    memoryBytes: 104_857_600,
  },
  lastHeartbeat: '2030-01-01T00:00:00.000Z',
  createdAt: '2030-01-01T00:00:00.000Z',
};
const assignment: CollectionAssignmentView = {
  collectionId: '01890000-0000-7000-8000-000000000001',
  collection: 'orders',
  tenantId: 'acme',
  workerId: 'one',
  status: 'READY',
  generation: 7,
  manual: true,
  assignedAt: '2030-01-01T00:00:00.000Z',
};

function answerTo(line: string): PlatformAnswer {
  if (line === 'GET /control/workers') return { status: 200, body: { workers: [worker] } };
  if (line.endsWith('/drain')) return { status: 202, body: worker };
  if (line.endsWith('/busy')) return { status: 200, body: { ...worker, isOverloaded: true } };
  if (line.endsWith('/assign')) return { status: 202, body: assignment };
  if (line.endsWith('/unassign')) return { status: 202 };
  if (line.includes('assignments')) return { status: 200, body: { assignments: [assignment] } };
  return { status: 200, body: worker };
}

/** Runs a command line against a platform with one worker and one collection. */
const run = (...argv: string[]) => runAnswered(argv, answerTo);

const workerLine =
  'one  READY  default  1 of 50 collections  42.0 requests/s  2030-01-01T00:00:00.000Z  http://one:8080';

describe('drover workers', () => {
  it('lists workers, and shows one with its load and its collections', async () => {
    expect((await run('workers', 'list')).stdout).toBe(`${workerLine}\n`);
    expect(JSON.parse((await run('workers', 'list', '--json')).stdout)).toEqual([worker]);
    const { stdout } = await run('workers', 'show', 'one');
    expect(stdout.split('\n')).toEqual([
      workerLine,
      '  pod shop/one-abc, zone z1',
      '  CPU 120 ms/s, 1.3 ms per request, 0.5 % errors, 100 MiB',
      expect.stringMatching(/^ {2}orders {2}one {2}READY {2}2030-01-01T00:00:00.000Z {2}by hand/),
      '',
    ]);
  });

  it('shows one that is overloaded as such', async () => {
    expect((await run('workers', 'show', 'busy')).stdout).toMatch(/^one {2}READY, OVERLOADED {2}default/);
  });

  it('drains one', async () => {
    const { stdout, asked } = await run('workers', 'drain', 'one');
    expect(asked).toEqual(['POST /control/workers/one/drain']);
    expect(stdout).toContain('It serves 1 collection until other workers do');
  });
});

describe('drover assignments', () => {
  it('lists, makes and ends assignments', async () => {
    const listed = await run('assignments', 'list', '--collection', 'orders', '--status', 'ready');
    expect(listed.asked).toEqual(['GET /control/assignments?collection=orders&status=READY']);
    expect(listed.stdout).toMatch(/^orders {2}one {2}READY/);
    const assigned = await run('assignments', 'assign', 'orders', 'one');
    expect(assigned.bodies).toEqual([{ collection: 'orders', workerId: 'one' }]);
    expect(assigned.stdout).toBe('The collection orders is READY on one, and stays there.\n');
    const ended = await run('assignments', 'unassign', 'orders', 'one');
    expect(ended.asked).toEqual(['POST /control/assignments/unassign']);
    expect(ended.stdout).toBe('The collection orders leaves one when another worker serves it.\n');
  });

  it('refuses a status that does not exist before it asks the platform', async () => {
    const { asked, stderr, exitCode } = await run('assignments', 'list', '--status', 'lost');
    expect([asked, exitCode]).toEqual([[], 1]);
    expect(stderr).toContain('Use PENDING, INITIALIZING, READY, DRAINING, REMOVED.');
  });
});
