import { isCodedError } from '@drover/contracts';
import { GrpcStatus, GrpcStatusError, type SettlementHandlers } from '@drover/function-rpc';
import { readAmqpMap, type LockedMessages, type MessageProperties } from '@drover/trigger-sources';

/**
 * Settles Service Bus messages for the functions that run them, by lock token, and gives them the sessions of their messages, by
 * session id.
 */
export function settlementService(locked: LockedMessages): SettlementHandlers {
  return {
    complete: ({ locktoken }) => explained(() => locked.message(locktoken).complete()),
    abandon: ({ locktoken, propertiesToModify }) =>
      explained(async () => locked.message(locktoken).abandon(await readProperties(propertiesToModify))),
    defer: ({ locktoken, propertiesToModify }) =>
      explained(async () => locked.message(locktoken).defer(await readProperties(propertiesToModify))),
    deadletter: ({ locktoken, propertiesToModify, deadletterReason, deadletterErrorDescription }) =>
      explained(async () =>
        locked.message(locktoken).deadLetter({
          reason: deadletterReason?.value,
          description: deadletterErrorDescription?.value,
          properties: await readProperties(propertiesToModify),
        }),
      ),
    renewMessageLock: ({ locktoken }) =>
      explained(async () => {
        await locked.message(locktoken).renew();
      }),
    getSessionState: ({ sessionId }) =>
      explained(async () => (await locked.session(sessionId).state()) ?? new Uint8Array()),
    setSessionState: ({ sessionId, sessionState }) =>
      explained(() => locked.session(sessionId).setState(sessionState.length === 0 ? undefined : sessionState)),
    releaseSession: ({ sessionId }) => explained(() => locked.session(sessionId).release()),
    renewSessionLock: ({ sessionId }) => explained(() => locked.session(sessionId).renew()),
  };
}

async function readProperties(bytes: Uint8Array): Promise<MessageProperties | undefined> {
  if (bytes.length === 0) return undefined;
  try {
    return await readAmqpMap(bytes);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new GrpcStatusError(
      GrpcStatus.INVALID_ARGUMENT,
      `propertiesToModify must be a map in AMQP encoding with text keys and simple values: ${reason}`,
    );
  }
}

/** The worker gets the reason: its function decides what to do without the lock. */
async function explained<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof GrpcStatusError || !isCodedError(error)) throw error;
    const status = error.code === 'SERVICE_BUS_LOCK_UNKNOWN' ? GrpcStatus.NOT_FOUND : GrpcStatus.UNAVAILABLE;
    throw new GrpcStatusError(status, error.message);
  }
}
