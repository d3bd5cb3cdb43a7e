import { Client, credentials, Metadata, type ClientDuplexStream } from '@grpc/grpc-js';
import { ScaleLinkServer, type ControllerMessage, type RuntimeMessage } from '@drover/scale-link';
import { attachMessage } from '@drover/scale-link/testing';
import { Secret, systemClock } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';

const method = '/drover.scale.v1.ScaleLink/Attach';
const toJson = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** A call of grpc-js with JSON messages. */
function attach(client: Client, token: string): ClientDuplexStream<RuntimeMessage, ControllerMessage> {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  return client.makeBidiStreamRequest<RuntimeMessage, ControllerMessage>(
    method,
    toJson,
    (bytes) => JSON.parse(bytes.toString('utf8')) as ControllerMessage,
    metadata,
  );
}

describe('the scale link', () => {
  it('is gRPC: a runtime with another implementation of it attaches, takes commands and answers', async () => {
    const received: RuntimeMessage[] = [];
    const server = new ScaleLinkServer({
      host: '127.0.0.1',
      port: 0,
      token: new Secret('right'),
      tls: undefined,
      clock: systemClock,
      refusal: () => undefined,
      onRefused: () => undefined,
      onAttached: (runtime) => {
        runtime.send({ kind: 'park', token: 5, commandId: 1, application: 'default/hello' });
        return { received: (message) => received.push(message), detached: () => undefined };
      },
    });
    await server.start();
    const client = new Client(new URL(server.url).host, credentials.createInsecure());
    try {
      const call = attach(client, 'right');
      const command = new Promise<ControllerMessage>((resolve) => call.once('data', resolve));
      const failed = new Promise<never>((_, reject) => call.once('error', reject));
      failed.catch(() => undefined); // it is cancelled in the end
      call.write(attachMessage());
      expect(await Promise.race([command, failed])).toEqual({
        kind: 'park',
        token: 5,
        commandId: 1,
        application: 'default/hello',
      });
      call.write({ kind: 'answer', commandId: 1 });
      await eventually(() => expect(received).toEqual([{ kind: 'answer', commandId: 1 }]));
      call.cancel();
      const refused = attach(client, 'wrong');
      const error = await new Promise<{ code: number; details: string }>((resolve) =>
        refused.once('error', (cause) => resolve(cause as unknown as { code: number; details: string })),
      );
      expect(error).toMatchObject({ code: 16, details: 'the token is missing or not valid' });
    } finally {
      client.close();
      await server.stop();
    }
  });
});
