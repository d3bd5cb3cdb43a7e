import type { RpcException } from '@drover/function-rpc';

/**
 * How a function says "never try this message again": it throws an error that is a rejection, in one of two ways.
 *
 * 1. The error's message begins with `DROVER_REJECT:`. Every language and every official worker passes the message on:
 *    `throw new Error('DROVER_REJECT: no such customer')`.
 * 2. The error's type is named `RejectMessageError`. Our worker puts there the name of the error thrown, and this one for
 *    every error whose `code` is `DROVER_REJECT`; other workers write it in front of the message.
 */
const rejectPrefix = 'DROVER_REJECT:';
const rejectType = 'RejectMessageError';

const pattern = new RegExp(`^(?:Exception: )?(?:[\\w.]{0,200}: )?${rejectPrefix}\\s*`);
const typePattern = new RegExp(`^(?:Exception: )?(?:[\\w.]{0,200}\\.)?${rejectType}(?::\\s*|$)`);

/** The reason if `exception` is a rejection, without what marks it as one. */
export function rejectionReason(exception: RpcException | undefined): string | undefined {
  if (!exception) return undefined;
  const { message, type } = exception;
  if (pattern.test(message)) return message.replace(pattern, '') || 'rejected by the function';
  if (typePattern.test(message)) return message.replace(typePattern, '') || 'rejected by the function';
  if (type === rejectType || type.endsWith(`.${rejectType}`)) return message || 'rejected by the function';
  return undefined;
}
