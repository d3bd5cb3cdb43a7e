import { describe, expect, it } from 'vitest';
import { planAssignments, type AssignmentInput } from './plan-assignments.js';
import { PlannedSchedule } from './planned-schedule.test.fixture.js';

/** DROVER_SIMULATION_SEEDS runs more, DROVER_SIMULATION_SEED only one. */
const only = process.env['DROVER_SIMULATION_SEED'];
const count = Number(process.env['DROVER_SIMULATION_SEEDS'] ?? 300);
/** A planted defect must show within so many seeds. */
const patience = 600;

function runSchedules(seeds: number, plan: typeof planAssignments = planAssignments): number {
  let busy = 0;
  const all = only === undefined ? Array.from({ length: seeds }, (_, index) => index + 1) : [Number(only)];
  for (const seed of all) {
    try {
      busy += new PlannedSchedule(seed, plan).run();
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      throw new Error(`DROVER_SIMULATION_SEED=${seed}: ${problem}`, { cause: error });
    }
  }
  return busy;
}

/** Plans of a defective planner: what it sees, or what it decides, is changed. */
const planted: Readonly<Record<string, typeof planAssignments>> = {
  'break before make': (input, policy) => {
    const plan = planAssignments(input, policy);
    const moved = plan.assign.flatMap(({ collectionId, replaces }) =>
      replaces === undefined ? [] : [{ collectionId, workerId: replaces }],
    );
    return { ...plan, drain: [...plan.drain, ...moved] };
  },
  'a move that has ended is carried out again': (input, policy) =>
    planAssignments({ ...input, assignments: input.assignments.map((row) => ({ ...row, assignedAtMs: 0 })) }, policy),
  'a worker that starts counts as READY': (input, policy) => planAssignments(withStatus(input, 'STARTING'), policy),
  'a worker that drains counts as READY': (input, policy) => planAssignments(withStatus(input, 'DRAINING'), policy),
  'capacity is not looked at': (input, policy) =>
    planAssignments({ ...input, workers: input.workers.map((worker) => ({ ...worker, capacity: 1_000 })) }, policy),
  'assignments that drain take no room': (input, policy) =>
    planAssignments({ ...input, assignments: input.assignments.filter(({ status }) => status !== 'DRAINING') }, policy),
  'what is being prepared counts as READY': (input, policy) =>
    planAssignments(
      {
        ...input,
        assignments: input.assignments.map((row) => (row.status === 'PENDING' ? { ...row, status: 'READY' } : row)),
      },
      policy,
    ),
  'a worker that is OFFLINE counts as READY': (input, policy) => planAssignments(withStatus(input, 'OFFLINE'), policy),
  'nothing is rebalanced': (input, policy) => planAssignments(input, { ...policy, tolerance: 100 }),
  'replicas that are too many stay': (input, policy) => {
    const plan = planAssignments(input, policy);
    const gone = new Set(input.workers.filter(({ status }) => status === 'DRAINING').map(({ id }) => id));
    return { ...plan, drain: plan.drain.filter(({ workerId }) => gone.has(workerId)) };
  },
};

function withStatus(input: AssignmentInput, status: string): AssignmentInput {
  const workers = input.workers.map((worker) =>
    worker.status === status ? { ...worker, status: 'READY' as const } : worker,
  );
  return { ...input, workers };
}

describe('plans of assignments', () => {
  it('keep all rules over many schedules of joins, leaves, crashes, restarts and changing loads', () => {
    expect(runSchedules(count)).toBeGreaterThan(0);
  });

  it.each(Object.entries(planted))('would break a rule if %s', (_, plan) => {
    expect(() => runSchedules(patience, plan)).toThrow(/^DROVER_SIMULATION_SEED=\d+: /);
  });
});
