import { defaultTenantId, type AcceptedCall } from '@drover/contracts';
import type { ExecutionOutcome } from '@drover/execution-store';
import { expect, it } from 'vitest';
import { toRecentCall } from '../recent-calls.js';
import { viewFinished, viewRecent } from './execution-view.js';

const accepted: AcceptedCall = {
  executionId: '01900000-0000-7000-8000-000000000000',
  tenantId: defaultTenantId,
  functionName: 'hello',
  generation: 1,
  payload: { json: '1' },
  kind: 'sync',
  acceptedAt: 1_000,
};
const coldStartMs = { queued: 0.4, decided: 2.1, process: 0, connect: 0, reload: 6.3, load: 12, run: 1.8 };
const outcome: ExecutionOutcome = {
  status: 'success',
  finishedAt: 1_030,
  attempts: 1,
  failures: [],
  output: { json: '"done"' },
  coldStart: true,
  initDurationMs: 20,
  coldStartMs,
  deadLetter: false,
};

it('shows where the time of a call went that waited for a worker, stored or not', () => {
  const stored = viewFinished({ accepted, outcome, evicted: false });
  expect(JSON.parse(stored)).toMatchObject({ coldStart: true, initDurationMs: 20, coldStartMs, output: 'done' });
  expect(JSON.parse(viewRecent(toRecentCall(accepted, outcome)))).toMatchObject({ status: 'success', coldStartMs });
});
