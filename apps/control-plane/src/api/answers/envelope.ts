import type { ExecutionMode } from '@drover/contracts';
import type { ExecutionOutcome } from '@drover/execution-store';

/** The HTTP response for a finished execution. */
export interface EnvelopeAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: readonly string[];
}

/** Renders the envelope for a finished synchronous call, whatever the handler returned. */
export function toEnvelope(
  executionId: string,
  outcome: ExecutionOutcome,
  mode: ExecutionMode | undefined,
): EnvelopeAnswer {
  const { status, output, error, statusCode, headers } = outcome;
  const isChosen = statusCode !== undefined && statusCode >= 200;
  let text = `{"executionId":"${executionId}","status":"${status}","output":${output?.json ?? 'null'},"error":${error ? JSON.stringify(error) : 'null'}`;
  if (statusCode !== undefined) text += `,"statusCode":${statusCode}`;
  if (headers) text += `,"headers":${JSON.stringify(headers)}`;
  if (output?.encoding) text += `,"encoding":"${output.encoding}"`;
  return {
    status: isChosen ? statusCode : httpStatusOf(outcome, mode),
    text: `${text}}`,
    headers: isChosen
      ? ['x-execution-id', executionId, 'x-nanofaas-function-status', 'true']
      : ['x-execution-id', executionId],
  };
}

/** Renders an envelope without a result, for a caller that waited too long or whose result was evicted. */
export function toEnvelopeWithout(
  executionId: string,
  status: string,
  error: { code: string; message: string },
): string {
  const { code, message } = error;
  return `{"executionId":"${executionId}","status":"${status}","output":null,"error":${JSON.stringify({ code, message })}}`;
}

/** Maps an outcome to an HTTP status: a failure of the platform or handler is 500, one of an endpoint 502 or 504. */
export function httpStatusOf(
  { status, error }: Pick<ExecutionOutcome, 'status' | 'error'>,
  mode: ExecutionMode | undefined,
): number {
  switch (status) {
    case 'success':
      return 200;
    case 'timeout':
      return mode === 'POOL' && error?.code === 'POOL_TIMEOUT' ? 504 : 408;
    case 'error':
      return error?.code === 'POOL_ERROR' ? 502 : 500;
    case 'cancelled':
      return 409;
  }
}
