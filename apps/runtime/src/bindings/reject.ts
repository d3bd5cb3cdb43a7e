import type { RpcException } from '@drover/function-rpc';

/**
 * A function rejects its message, so that it is never retried, by throwing an error in one of two ways.
 *
 * 1. The message of the error begins with `DROVER_REJECT:`. Every worker passes the message on:
 *    `throw new Error('DROVER_REJECT: no such customer')`.
 * 2. The type of the error is `RejectMessageError`. Drover's Node.js worker sends the name of the error as the type, and this
 *    type for errors with the `code` `DROVER_REJECT`; other workers write the type in front of the message.
 */
const rejectPrefix = 'DROVER_REJECT:';
const rejectType = 'RejectMessageError';

const pattern = new RegExp(`^(?:Exception: )?(?:[\\w.]{0,200}: )?${rejectPrefix}\\s*`);
const typePattern = new RegExp(`^(?:Exception: )?(?:[\\w.]{0,200}\\.)?${rejectType}(?::\\s*|$)`);

/** Returns the reason of a rejection without its marker, or undefined if the exception is not a rejection. */
export function rejectionReason(exception: RpcException | undefined): string | undefined {
  if (!exception) return undefined;
  const { message, type } = exception;
  if (pattern.test(message)) return message.replace(pattern, '') || 'rejected by the function';
  if (typePattern.test(message)) return message.replace(typePattern, '') || 'rejected by the function';
  if (type === rejectType || type.endsWith(`.${rejectType}`)) return message || 'rejected by the function';
  return undefined;
}
