import { GrpcStatus, type UnaryCall } from '@drover/function-rpc';
import { LockedMessages, type LockedMessage, type LockedSession } from '@drover/trigger-sources';
import { describe, expect, it } from 'vitest';
import { settlementService } from './settlement-service.js';

const call = {} as UnaryCall; // not used by the handlers
const locktoken = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
/** A map in AMQP encoding: { a: 'x' }. */
const amqpMap = Buffer.from('c107 02 a10161 a10178'.replaceAll(' ', ''), 'hex');

function locked() {
  const messages = new LockedMessages();
  const calls: unknown[][] = [];
  const record =
    (name: string) =>
    async (...details: unknown[]): Promise<void> =>
      void calls.push([name, ...details]);
  const until = new Date(5_000);
  const message: LockedMessage = {
    complete: record('complete'),
    abandon: record('abandon'),
    deadLetter: record('deadLetter'),
    defer: record('defer'),
    renew: async () => (calls.push(['renew']), until),
  };
  let state: Uint8Array | undefined;
  const session: LockedSession = {
    state: async () => state,
    setState: async (next) => void (state = next),
    release: record('release'),
    renew: async () => until,
  };
  messages.add(locktoken, message);
  messages.addSession('shop', 'cart', session);
  return { service: settlementService(messages), calls, until };
}

describe('the settlement service', () => {
  it('settles a message by its lock token, with properties and reasons', async () => {
    const { service, calls } = locked();
    const empty = new Uint8Array();
    await service.complete({ locktoken }, call);
    await service.abandon({ locktoken, propertiesToModify: amqpMap }, call);
    await service.defer({ locktoken, propertiesToModify: empty }, call);
    await service.deadletter(
      {
        locktoken,
        propertiesToModify: amqpMap,
        deadletterReason: { value: 'why' },
        deadletterErrorDescription: { value: 'in detail' },
      },
      call,
    );
    await service.renewMessageLock({ locktoken }, call);
    expect(calls).toEqual([
      ['complete'],
      ['abandon', { a: 'x' }],
      ['defer', undefined],
      ['deadLetter', { reason: 'why', description: 'in detail', properties: { a: 'x' } }],
      ['renew'],
    ]);
  });

  it('reads, writes, renews and releases a session', async () => {
    const { service, calls, until } = locked();
    const read = () => service.getSessionState({ sessionId: 'cart' }, call);
    expect(await read()).toEqual(new Uint8Array());
    await service.setSessionState({ sessionId: 'cart', sessionState: Buffer.from('full') }, call);
    expect(await read()).toEqual(Buffer.from('full'));
    await service.setSessionState({ sessionId: 'cart', sessionState: new Uint8Array() }, call);
    expect(await read()).toEqual(new Uint8Array());
    expect(await service.renewSessionLock({ sessionId: 'cart' }, call)).toEqual(until);
    await service.releaseSession({ sessionId: 'cart' }, call);
    expect(calls).toEqual([['release']]);
  });

  it('says that a lock is unknown, and that properties are not a map', async () => {
    const { service } = locked();
    await expect(service.complete({ locktoken: 'other' }, call)).rejects.toMatchObject({
      grpcStatus: GrpcStatus.NOT_FOUND,
      message: expect.stringContaining('other') as string,
    });
    await expect(service.getSessionState({ sessionId: 'other' }, call)).rejects.toMatchObject({
      grpcStatus: GrpcStatus.NOT_FOUND,
    });
    await expect(service.abandon({ locktoken, propertiesToModify: Buffer.from('{}') }, call)).rejects.toMatchObject({
      grpcStatus: GrpcStatus.INVALID_ARGUMENT,
    });
  });
});
