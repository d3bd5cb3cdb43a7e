import Type, { type Static } from 'typebox';
import { isCodedError } from '../errors/define-error.js';

/** The one shape of every error answer. */
export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: 'The code, as docs/errors.md lists it' }),
    message: Type.String({ description: 'What happened and what to do, for people' }),
    requestId: Type.String({ description: 'Names this request in the logs' }),
    details: Type.Optional(
      Type.Array(
        Type.Object({
          path: Type.String({ description: 'Where in the request' }),
          message: Type.String(),
        }),
      ),
    ),
  },
  { $id: 'Error' },
);

export type ErrorBody = Static<typeof ErrorBody>;

/** What a caller may see of an error: platform faults keep their inside to the log. */
export function toErrorBody(error: unknown, requestId: string): { readonly status: number; readonly body: ErrorBody } {
  if (!isCodedError(error)) {
    const message = 'an unexpected error happened; the log has it under this request id';
    return { status: 500, body: { error: 'INTERNAL_ERROR', message, requestId } };
  }
  const message =
    error.fault === 'platform'
      ? `the platform cannot do this ${error.retryable ? 'at the moment; try again shortly' : 'now; the log has the reason under this request id'}`
      : error.message;
  return { status: error.status, body: { error: error.code, message, requestId } };
}
