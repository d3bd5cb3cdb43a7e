import { createRequire } from 'node:module';
import rhea, { type Connection, type Session } from 'rhea';
import { beforeEach, describe, expect, it } from 'vitest';
import { TransferFrames, type AppliedOutcomes, type ReceivedTransfer } from './transfer-frames.js';

/** The encoder of rhea, which it does not export. */
const frames = createRequire(import.meta.url)('rhea/lib/frames.js') as {
  amqp_frame(channel: number, performative: unknown, payload?: Buffer): unknown;
  write_frame(frame: unknown): Buffer;
  transfer(fields: object): unknown;
  flow(fields: object): unknown;
  disposition(fields: object): unknown;
};
const bytesOf = (channel: number, performative: unknown, payload?: Buffer): Buffer =>
  frames.write_frame(frames.amqp_frame(channel, performative, payload));
const transfer = (fields: object, { channel = 5, payload = Buffer.from('payload') } = {}): Buffer =>
  bytesOf(channel, frames.transfer({ handle: 0, ...fields }), payload);
const tag = Buffer.from('0123456789abcdef');
const ordinary = { delivery_id: 7, delivery_tag: tag, message_format: 0, settled: false };

describe('transfer frames', () => {
  const session = {} as Session; // only its identity matters
  let taken: ReceivedTransfer[] = [];
  let applied: AppliedOutcomes[] = [];
  let leftToRhea: Buffer[] = [];
  let transport: { header_received?: object; read(bytes: Buffer): number };
  beforeEach(() => {
    taken = [];
    applied = [];
    leftToRhea = [];
    transport = {
      header_received: {},
      read(bytes) {
        leftToRhea.push(bytes);
        return bytes.length;
      },
    };
    const transfers = new TransferFrames();
    transfers.take(session, {
      onTransfer: (frame) => taken.push(frame),
      onApplied: (outcomes) => applied.push(outcomes),
    });
    const connection = { amqp_transport: transport, remote_channel_map: { 5: session, 6: {} } };
    transfers.attach(connection as unknown as Connection); // all that it uses
  });

  it('are read for the session that takes them', () => {
    const bytes = Buffer.concat([
      transfer({ ...ordinary, more: true }),
      transfer({ delivery_id: null, delivery_tag: null, more: false }, { payload: Buffer.from('rest') }),
      transfer({ ...ordinary, delivery_id: 70_000, aborted: true, batchable: true }, { payload: Buffer.alloc(0) }),
    ]);
    expect(transport.read(bytes)).toBe(bytes.length);
    expect(taken).toEqual([
      { deliveryId: 7, tag, more: true, aborted: false, payload: Buffer.from('payload') },
      { deliveryId: undefined, tag: undefined, more: false, aborted: false, payload: Buffer.from('rest') },
      { deliveryId: 70_000, tag, more: false, aborted: true, payload: Buffer.alloc(0) },
    ]);
    expect(leftToRhea).toEqual([]);
  });

  it('bring confirmations of accepted deliveries; other dispositions are left to rhea', () => {
    const { accepted, released } = rhea.message as unknown as Record<string, () => { described(): unknown }>; // not in its types
    const disposition = (fields: object): Buffer =>
      bytesOf(
        5,
        frames.disposition({ role: false, first: 4, settled: true, state: accepted?.().described(), ...fields }),
      );
    const others = [
      disposition({ role: true }),
      disposition({ settled: false }),
      disposition({ state: released?.().described() }),
      disposition({ state: undefined }),
    ];
    const bytes = Buffer.concat([disposition({}), ...others, disposition({ first: 70_000, last: 70_010 })]);
    expect(transport.read(bytes)).toBe(bytes.length);
    expect(applied).toEqual([
      { first: 4, last: 4 },
      { first: 70_000, last: 70_010 },
    ]);
    expect(leftToRhea).toEqual(others);
  });

  it('are left to rhea for other sessions, as other frames are, in order', () => {
    const flow = bytesOf(5, frames.flow({ incoming_window: 1, next_outgoing_id: 1, outgoing_window: 1 }));
    const others = [transfer(ordinary, { channel: 6 }), flow, transfer(ordinary, { channel: 7 })];
    const bytes = Buffer.concat([transfer(ordinary), ...others]);
    expect(transport.read(bytes)).toBe(bytes.length);
    expect(taken).toHaveLength(1);
    expect(leftToRhea).toEqual(others);
  });

  it('are left to rhea if they are not like most', () => {
    const textAsTag = transfer(ordinary);
    textAsTag[textAsTag.indexOf(tag) - 2] = 0xa1;
    const plainFrame = transfer(ordinary);
    const extended = Buffer.concat([plainFrame.subarray(0, 8), Buffer.alloc(4), plainFrame.subarray(8)]);
    extended.writeUInt32BE(extended.length, 0);
    extended[4] = 3;
    const bytes = Buffer.concat([textAsTag, extended]);
    expect(transport.read(bytes)).toBe(bytes.length);
    expect([taken, leftToRhea]).toEqual([[], [textAsTag, extended]]);
  });

  it('wait for their last byte', () => {
    const [first, second] = [transfer(ordinary), transfer({ ...ordinary, delivery_id: 8 })];
    const bytes = Buffer.concat([first, second]);
    for (let missing = 1; missing < second.length; missing += 1)
      expect(transport.read(bytes.subarray(0, bytes.length - missing))).toBe(first.length);
    expect(taken.every(({ deliveryId }) => deliveryId === 7)).toBe(true);
    expect(leftToRhea).toEqual([]);
  });

  it('come after the header of the protocol, which is left to rhea', () => {
    delete transport.header_received;
    const header = Buffer.from('AMQP\0\x01\0\0');
    expect(transport.read(header)).toBe(8);
    expect(leftToRhea).toEqual([header]);
  });
});
