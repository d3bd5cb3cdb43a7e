import type { AcceptedCall } from '@drover/contracts';
import type { ExecutionOutcome, FinishedExecution } from '../execution.js';
import type { BinaryArrays } from './binary-arrays.js';
import type { ArchivedRow } from './statements/archive-queries.js';
import { fromColumn, toColumn } from './text-columns.js';

/** The data of an archive row. */
export interface ArchiveItem {
  readonly partition: number;
  readonly accepted: AcceptedCall;
  readonly outcome: ExecutionOutcome;
}

/** Writes `ArchivedColumns`. Returns the bytes of inputs and outputs. */
export function writeArchivedRows(
  arrays: BinaryArrays,
  rows: readonly ArchiveItem[],
  expiryOf: (outcome: ExecutionOutcome) => number,
): number {
  const { length } = rows;
  arrays.begin('text', length);
  for (const { accepted } of rows) arrays.text(accepted.tenantId);
  arrays.begin('uuid', length);
  for (const { accepted } of rows) arrays.uuid(accepted.executionId);
  arrays.begin('integer', length);
  for (const { partition } of rows) arrays.integer(partition);
  arrays.begin('text', length);
  for (const { accepted } of rows) arrays.text(accepted.functionName);
  arrays.begin('bigint', length);
  for (const { accepted } of rows) arrays.bigint(accepted.generation);
  arrays.begin('text', length);
  for (const { outcome } of rows) arrays.text(outcome.status);
  arrays.begin('timestamptz', length);
  for (const { accepted } of rows) arrays.timestamptz(accepted.acceptedAt);
  arrays.begin('timestamptz', length);
  for (const { outcome } of rows) arrays.timestamptz(outcome.finishedAt);
  arrays.begin('timestamptz', length);
  for (const { outcome } of rows) arrays.timestamptz(expiryOf(outcome));
  arrays.begin('text', length);
  for (const { accepted } of rows) arrays.text(optionalColumn(accepted.idempotencyKey));
  arrays.begin('text', length);
  for (const { accepted } of rows) arrays.text(optionalColumn(accepted.traceId));
  arrays.begin('boolean', length);
  for (const { outcome } of rows) arrays.boolean(outcome.deadLetter);
  let bytes = 0;
  arrays.begin('text', length);
  for (const { accepted } of rows) bytes += arrays.text(accepted.payload.json);
  arrays.begin('text', length);
  for (const { outcome } of rows) bytes += arrays.text(outcome.output?.json);
  arrays.begin('text', length);
  for (const { accepted, outcome } of rows) arrays.text(restOf(accepted, outcome));
  return bytes;
}

/** The column `rest`: JSON of everything that no query searches for. */
interface RestColumn {
  readonly kind: 'sync' | 'async';
  readonly attempts: number;
  readonly inputEncoding?: 'base64';
  readonly outputEncoding?: 'base64';
  /** The optional properties of the accepted call. The name is part of the stored format. */
  readonly invocation?: Partial<AcceptedCall>;
  readonly outcome?: Partial<ExecutionOutcome>;
}

export function toFinished(row: ArchivedRow): FinishedExecution {
  const {
    kind,
    attempts,
    inputEncoding,
    outputEncoding,
    invocation: rest,
    outcome,
  } = JSON.parse(row.rest) as RestColumn; // `restOf` wrote it
  const key = row.idempotency_key;
  return {
    accepted: {
      ...rest,
      executionId: row.execution_id,
      tenantId: row.tenant_id,
      functionName: row.function_name,
      generation: row.generation,
      payload: {
        json: row.input ?? 'null',
        ...(inputEncoding && !row.evicted && { encoding: inputEncoding }),
      },
      kind,
      acceptedAt: row.accepted_at.getTime(),
      ...(key !== null && { idempotencyKey: fromColumn(key) }),
      ...(row.trace_id !== null && { traceId: fromColumn(row.trace_id) }),
    },
    outcome: {
      failures: [],
      ...outcome,
      status: row.status,
      finishedAt: row.finished_at.getTime(),
      attempts,
      ...(row.output !== null && {
        output: { json: row.output, ...(outputEncoding && { encoding: outputEncoding }) },
      }),
      deadLetter: row.dead_letter,
    },
    evicted: row.evicted,
    ...(row.redriven_as !== null && { redrivenAs: row.redriven_as }),
  };
}

function optionalColumn(text: string | undefined): string | undefined {
  return text === undefined ? undefined : toColumn(text);
}

function restOf(accepted: AcceptedCall, outcome: ExecutionOutcome): string {
  const inputEncoding = accepted.payload.encoding;
  const outputEncoding = outcome.output?.encoding;
  return `{"kind":"${accepted.kind}","attempts":${outcome.attempts}${
    inputEncoding === undefined ? '' : `,"inputEncoding":"${inputEncoding}"`
  }${outputEncoding === undefined ? '' : `,"outputEncoding":"${outputEncoding}"`}${callRest(accepted)}${outcomeRest(outcome)}}`;
}

function callRest(accepted: AcceptedCall): string {
  const { metadata, headers, traceparent, tracestate, runAt, callbackUrl, replayOf, concurrencyKey } = accepted;
  if (
    (metadata ?? headers ?? traceparent ?? tracestate) === undefined &&
    (runAt ?? callbackUrl ?? replayOf ?? concurrencyKey) === undefined
  )
    return '';
  const rest = { metadata, headers, traceparent, tracestate, runAt, callbackUrl, replayOf, concurrencyKey };
  return `,"invocation":${JSON.stringify(rest)}`;
}

/** `isTransient` is the last property: `readKeyBindings` finds it there. */
function outcomeRest(outcome: ExecutionOutcome): string {
  const { failures, error, statusCode, headers, coldStart, initDurationMs, coldStartMs, isTransient } = outcome;
  if (failures.length === 0 && (error ?? headers ?? coldStart ?? initDurationMs ?? coldStartMs) === undefined) {
    return statusCode === undefined ? '' : `,"outcome":{"statusCode":${statusCode}}`;
  }
  const rest = { failures, error, statusCode, headers, coldStart, initDurationMs, coldStartMs, isTransient };
  return `,"outcome":${JSON.stringify(rest)}`;
}
