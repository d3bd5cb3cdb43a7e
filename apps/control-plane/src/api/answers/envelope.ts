import type { ExecutionMode } from '@drover/contracts';
import type { ExecutionOutcome } from '@drover/execution-store';

/** What goes over the wire for the end of an execution. */
export interface EnvelopeAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: readonly string[];
}

/** The answer to a synchronous call whose execution has ended: always the envelope, whatever the handler returned. */
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

/** An envelope about an execution whose end the caller does not get to see. */
export function toEnvelopeWithout(
  executionId: string,
  status: string,
  error: { code: string; message: string },
): string {
  const { code, message } = error;
  return `{"executionId":"${executionId}","status":"${status}","output":null,"error":${JSON.stringify({ code, message })}}`;
}

/** Whose failure it was: ours and the handler's are 500, an endpoint's 502 and 504. */
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
