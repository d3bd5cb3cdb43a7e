import { eventually } from '@drover/testkit';
import type { AcceptedCall } from './execution-load.js';
import { forEach, type FunctionsClient } from './executions.js';
import type { LocalLedger } from './local-ledger.js';
import type { Fault, RunLedger } from './run-ledger.js';

/** What must be empty after a story with faults, and what is worth a look. */
export interface Verdict {
  /** Accepted, and unknown now. */
  readonly missing: string[];
  /** Ended in another way than well. */
  readonly failed: string[];
  /** Called a success, though no run came to its end. */
  readonly neverRan: string[];
  /** Two runs at once, or numbers of attempts that do not grow. */
  readonly violations: string[];
  /** Runs again that no fault explains. */
  readonly unexplained: string[];
  /** Keys that stand for more than one execution, or for another than they did. */
  readonly keys: string[];
}

export const innocent: Verdict = { missing: [], failed: [], neverRan: [], violations: [], unexplained: [], keys: [] };

export interface Evidence {
  readonly api: FunctionsClient;
  readonly accepted: readonly AcceptedCall[];
  readonly ledger: RunLedger;
  readonly local?: LocalLedger;
  readonly faults: readonly Fault[];
  /** For all of them to end. */
  readonly withinMs: number;
}

/** Waits until everything that was accepted has ended, which it must, and says what was wrong on the way. */
export async function judge({ api, accepted, ledger, local, faults, withinMs }: Evidence): Promise<Verdict> {
  const verdict: Verdict = structuredClone(innocent);
  const ended = new Set<string>();
  await eventually(async () => {
    const left = accepted.filter(({ executionId }) => !ended.has(executionId));
    await forEach(left, 8, async ({ executionId, functionName }) => {
      const { status, body } = await api.request('GET', `/v1/executions/${executionId}`);
      if (status === 404) verdict.missing.push(`${functionName} ${executionId}`);
      else if (status === 200 && isFinal(body)) {
        if (body.status !== 'success') verdict.failed.push(JSON.stringify(body));
      } else return;
      ended.add(executionId);
    });
    const stuck = accepted.length - ended.size;
    if (stuck > 0) throw new Error(`${stuck} of ${accepted.length} executions have not ended`);
  }, withinMs);
  const ofLocal = local?.read();
  for (const { executionId, functionName } of accepted) {
    const hasRun =
      ledger.runs.get(executionId)?.some(({ how }) => how === 'answered') ?? ofLocal?.ended.has(executionId) ?? false;
    if (!hasRun) verdict.neverRan.push(`${functionName} ${executionId}`);
  }
  verdict.violations.push(...ledger.violations, ...(ofLocal?.violations ?? []));
  verdict.unexplained.push(...ledger.unexplained(faults));
  for (const [key, ids] of ledger.idsOfKeys)
    if (ids.size > 1) verdict.keys.push(`${key} ran as ${[...ids].join(' and ')}`);
  await checkKeys(api, accepted, verdict);
  return verdict;
}

/** Asked again, every key still stands for what it stood for. */
async function checkKeys(api: FunctionsClient, accepted: readonly AcceptedCall[], verdict: Verdict): Promise<void> {
  const keyed = accepted.filter(({ key }) => key !== undefined);
  await forEach(keyed, 8, async ({ functionName, key = '', input = null, executionId }) => {
    const { status, body } = await api.enqueue(functionName, { input }, { 'idempotency-key': key });
    const { executionId: now } = body as { executionId?: string }; // nothing in a refusal
    if (now !== executionId) verdict.keys.push(`${functionName} ${key}: ${executionId}, then ${status} ${now}`);
  });
}

const finalStates: readonly unknown[] = ['success', 'error', 'timeout', 'cancelled'];

function isFinal(body: unknown): body is { readonly status: string } {
  return typeof body === 'object' && body !== null && 'status' in body && finalStates.includes(body.status);
}
