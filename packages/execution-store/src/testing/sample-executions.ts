import type { AcceptedCall, TenantId } from '@drover/contracts';
import type { ExecutionOutcome } from '../execution.js';

/** Limits of the stores under test, unless a test is about them. */
export const contractLimits = { ttlMs: 60_000, deadLetterTtlMs: 600_000, maxBytes: 10_000_000 };
export type ContractLimits = typeof contractLimits;

// Any text is a tenant id here.
export const acme = 'acme' as TenantId;
export const globex = 'globex' as TenantId;

let created = 0;

/** Returns a version 7 id with this time and partition, higher than all before it of the same millisecond. */
export function executionIdAt(timeMs: number, partition = 3): string {
  created += 1;
  const time = timeMs.toString(16).padStart(12, '0');
  const count = created.toString(16).padStart(12, '0');
  const last = partition.toString(16).padStart(2, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count.slice(0, 3)}-8${count.slice(3, 6)}-${count.slice(6)}0000${last}`;
}

export function acceptedCallAt(
  acceptedAt: number,
  { partition, json = '{"n":1}', ...more }: Partial<AcceptedCall> & { partition?: number; json?: string } = {},
): AcceptedCall {
  return {
    executionId: executionIdAt(acceptedAt, partition),
    tenantId: acme,
    functionName: 'resize',
    generation: 1,
    payload: { json },
    kind: 'async',
    acceptedAt,
    ...more,
  };
}

export function outcomeAt(
  finishedAt: number,
  { json = '{"ok":true}', ...more }: Partial<ExecutionOutcome> & { json?: string } = {},
): ExecutionOutcome {
  return {
    status: 'success',
    finishedAt,
    attempts: 1,
    failures: [],
    output: { json },
    statusCode: 200,
    deadLetter: false,
    ...more,
  };
}

export function deadLetterAt(finishedAt: number): ExecutionOutcome {
  const error = { code: 'POOL_ERROR', message: 'the endpoint answered 500' };
  const failures = [{ attempt: 1, startedAt: finishedAt - 10, finishedAt, error }];
  return { status: 'error', finishedAt, attempts: 1, failures, error, deadLetter: true };
}

/** JSON texts that an encoding on the way could damage. */
export const awkwardPayloads = {
  newlines: '{\n  "a": 1,\r\n\t"b": [\n]\n}',
  unicode: '"Grüße, 世界, 🦊, \u2028\u2029, \u0085"',
  escapes: String.raw`"\u0000 \u001e \u001f \n \\ \" \/ \ud83e\udd8a"`,
  'half a surrogate pair': String.raw`"\ud800 and \udfff"`,
  'quotes and braces': '{"a":"{},\\"null\\"","NULL":null,"\\\\N":"\\\\."}',
  'numbers beyond doubles': '[12345678901234567890, 1e400, 1.0, -0]',
  'keys twice': '{"a":1,"a":2,"__proto__":{"b":1}}',
  'a megabyte': JSON.stringify({ text: 'ü'.repeat(524_288) }),
};
