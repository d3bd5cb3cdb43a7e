import { once } from 'node:events';
import { get } from 'node:https';
import { connect, type Socket } from 'node:net';
import { eventually, seededRandomness, selfSigned } from '@drover/testkit';
import rhea, { type Connection, type Delivery, type EventContext } from 'rhea';
import { afterEach, describe, expect, it } from 'vitest';
import { AmqpServer, type AmqpServerOptions } from './amqp-server.js';
import type {
  AmqpService,
  ConsumerLink,
  IncomingDelivery,
  ManagementRequest,
  OutgoingDelivery,
  DeliveryOutcome,
  ProducerLink,
} from './amqp-service.js';

/** A service that records what it is given; a test decides what happens. */
class ScriptedService implements AmqpService {
  readonly name = 'scripted';
  readonly producers: ProducerLink[] = [];
  readonly consumers: ConsumerLink[] = [];
  readonly received: IncomingDelivery[] = [];
  readonly requests: ManagementRequest[] = [];
  readonly closed: string[] = [];
  holdConsumers = false;
  onMessage: (delivery: IncomingDelivery) => void = (delivery) => delivery.accept();
  onCredit: (link: ConsumerLink) => void = () => undefined;

  claims(address: string): boolean {
    return /^(queue|queue\/\$management)$/i.test(address);
  }

  onProducer(link: ProducerLink): void {
    this.producers.push(link);
    link.accept({
      onMessage: (delivery) => {
        this.received.push(delivery);
        this.onMessage(delivery);
      },
      onClose: () => this.closed.push(link.name),
    });
  }

  onConsumer(link: ConsumerLink): void {
    this.consumers.push(link);
    if (!this.holdConsumers) this.accept(link);
  }

  accept(link: ConsumerLink): void {
    link.accept({ onCredit: () => this.onCredit(link), onClose: () => this.closed.push(link.name) });
  }

  onRequest(request: ManagementRequest): { status: number; body: unknown } {
    this.requests.push(request);
    if (request.operation === 'fail') throw new Error('it failed');
    return { status: 200, body: { echoed: request.body } };
  }
}

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function startServer(
  options: Partial<AmqpServerOptions> = {},
): Promise<{ service: ScriptedService; server: AmqpServer; port: number; problems: string[] }> {
  const service = new ScriptedService();
  const problems: string[] = [];
  const server = new AmqpServer({ services: [service], onProblem: (problem) => problems.push(problem), ...options });
  const port = await server.start();
  cleanups.push(() => server.stop());
  return { service, server, port, problems };
}

function connectClient(port: number, options: object = {}): Connection {
  const container = rhea.create_container({ id: 'test-client' });
  container.on('error', () => undefined);
  container.on('disconnected', () => undefined);
  const connection = container.connect({ port, host: '127.0.0.1', username: 'any', reconnect: false, ...options });
  cleanups.push(() => connection.close());
  return connection;
}

async function event(emitter: NodeJS.EventEmitter, name: string): Promise<EventContext> {
  const [context] = (await once(emitter, name)) as [EventContext];
  return context;
}

const encoded = (body: string): Buffer => rhea.message.encode({ body });

describe('links', () => {
  it('refuses an address that no service claims, with a text the SDKs recognise', async () => {
    const { port } = await startServer();
    const receiver = connectClient(port).open_receiver('nowhere');
    const { receiver: refused } = await event(receiver, 'receiver_error');
    expect(refused?.error).toMatchObject({
      condition: 'amqp:not-found',
      description: expect.stringMatching(/The messaging entity .* could not be found/),
    });
  });

  it('refuses a coordinator target and keeps the connection', async () => {
    const { port, service } = await startServer();
    const connection = connectClient(port);
    // What a transaction controller attaches to: a target that is no address.
    const sender = connection.open_sender({ target: {} });
    const { sender: refused } = await event(sender, 'sender_error');
    expect(refused?.error).toMatchObject({ condition: 'amqp:not-implemented' });
    await event(connection.open_sender('queue'), 'sender_open');
    expect(service.producers.length).toBe(1);
  });

  it('holds an attach back until the service accepts it', async () => {
    const { port, service } = await startServer();
    service.holdConsumers = true;
    const receiver = connectClient(port).open_receiver({ source: 'queue', credit_window: 10 });
    let isOpen = false;
    receiver.on('receiver_open', () => (isOpen = true));
    await eventually(() => expect(service.consumers.length).toBe(1));
    expect(isOpen).toBe(false);
    service.onCredit = (link) => link.deliver({ payload: encoded('late') });
    const message = event(receiver, 'message');
    for (const link of service.consumers) service.accept(link);
    expect((await message).message?.body).toBe('late');
    expect(isOpen).toBe(true);
  });

  it('tells the service when a client gives up before its attach was answered', async () => {
    const { port, service } = await startServer();
    service.holdConsumers = true;
    const connection = connectClient(port);
    const receiver = connection.open_receiver('queue');
    await eventually(() => expect(service.consumers.length).toBe(1));
    const [link] = service.consumers;
    let abandoned = 0;
    if (link) link.onAbandoned = () => (abandoned += 1);
    receiver.close();
    await event(receiver, 'receiver_close');
    expect(abandoned).toBe(1);
    expect(link?.isOpen).toBe(false);
    link?.refuse({ condition: 'amqp:not-allowed', description: 'too late' });
    service.holdConsumers = false;
    await event(connection.open_receiver('queue'), 'receiver_open');
  });

  it('tells the service once when a connection vanishes without a word', async () => {
    const { port, service, server } = await startServer();
    const connection = connectClient(port);
    await event(connection.open_sender('queue'), 'sender_open');
    await event(connection.open_receiver('queue'), 'receiver_open');
    server.dropConnections();
    await eventually(() => expect(service.closed.length).toBe(2));
    expect(service.consumers[0]?.capacity).toBe(0);
  });

  it('closes a link with an error of the service', async () => {
    const { port, service } = await startServer();
    const receiver = connectClient(port).open_receiver('queue');
    await event(receiver, 'receiver_open');
    service.consumers[0]?.close({ condition: 'amqp:link:stolen', description: 'taken over' });
    const { receiver: closed } = await event(receiver, 'receiver_error');
    expect(closed?.error).toMatchObject({ condition: 'amqp:link:stolen', description: 'taken over' });
    expect(service.closed.length).toBe(1);
  });
});

describe('producers', () => {
  it('hands over the bytes of a message as they were sent', async () => {
    const { port, service } = await startServer();
    const sender = connectClient(port).open_sender('queue');
    await event(sender, 'sendable');
    const properties = { three: rhea.types.wrap_double(3), seven: rhea.types.wrap_long(7) };
    const bytes = rhea.message.encode({ application_properties: properties, body: 'x' });
    sender.send(bytes, undefined, 0);
    sender.send(bytes, undefined, 0x80013700);
    await eventually(() => expect(service.received.length).toBe(2));
    expect(service.received.map(({ payload, format }) => [payload.equals(bytes), format])).toEqual([
      [true, 0],
      [true, 0x80013700],
    ]);
  });

  it('gives each of two neighbours settled in one tick its own outcome', async () => {
    const { port, service } = await startServer();
    const sender = connectClient(port).open_sender('queue');
    const outcomes: string[] = [];
    sender.on('accepted', ({ delivery }) => outcomes.push(`accepted ${delivery?.id}`));
    sender.on('rejected', ({ delivery }) => outcomes.push(`rejected ${delivery?.id}`));
    await event(sender, 'sendable');
    const waiting: IncomingDelivery[] = [];
    service.onMessage = (delivery) => waiting.push(delivery);
    for (let i = 0; i < 4; i += 1) sender.send({ body: i });
    await eventually(() => expect(waiting.length).toBe(4));
    const error = { condition: 'amqp:not-allowed', description: 'no' };
    for (const [index, delivery] of waiting.entries()) {
      if (index % 2 === 0) delivery.accept();
      else delivery.reject(error);
    }
    await eventually(() => expect(outcomes.length).toBe(4));
    expect(outcomes).toEqual(['accepted 0', 'rejected 1', 'accepted 2', 'rejected 3']);
  });

  it('limits unsettled transfers by credit and goes on as they are settled', async () => {
    const { port, service } = await startServer({ producerCredit: 10 });
    const sender = connectClient(port).open_sender('queue');
    const waiting: IncomingDelivery[] = [];
    service.onMessage = (delivery) => waiting.push(delivery);
    let sent = 0;
    sender.on('sendable', () => {
      while (sender.sendable() && sent < 100) sender.send({ body: sent++ });
    });
    await eventually(() => expect(waiting.length).toBe(10));
    let accepted = 0;
    sender.on('accepted', () => (accepted += 1));
    service.onMessage = (delivery) => delivery.accept();
    for (const delivery of waiting) delivery.accept();
    await eventually(() => expect(accepted).toBe(100));
  });

  it('joins a large message from many frames, and refuses one above the limit', async () => {
    const { port, service } = await startServer({ maxMessageBytes: 1_000_000 });
    const connection = connectClient(port);
    const sender = connection.open_sender('queue');
    await event(sender, 'sendable');
    expect(sender.max_message_size).toBe(1_000_000);
    const bytes = encoded('x'.repeat(900_000));
    sender.send(bytes, undefined, 0);
    await event(sender, 'accepted');
    expect(service.received[0]?.payload.equals(bytes)).toBe(true);
    sender.send(encoded('x'.repeat(1_000_100)), undefined, 0);
    const { delivery } = await event(sender, 'rejected');
    expect(delivery?.remote_state).toMatchObject({ error: { condition: 'amqp:link:message-size-exceeded' } });
    sender.send(bytes, undefined, 0);
    await event(sender, 'accepted');
  });
});

describe('consumers', () => {
  it('have capacity for their credit and not for one delivery more', async () => {
    const { port, service } = await startServer();
    const receiver = connectClient(port).open_receiver({ source: 'queue', credit_window: 0, autoaccept: false });
    const bodies: unknown[] = [];
    receiver.on('message', ({ message }) => bodies.push(message?.body));
    await event(receiver, 'receiver_open');
    const [link] = service.consumers;
    expect(link?.capacity).toBe(0);
    expect(() => link?.deliver({ payload: encoded('no credit') })).toThrow('capacity');
    service.onCredit = (each) => {
      while (each.capacity > 0) each.deliver({ payload: encoded('one') });
    };
    receiver.add_credit(3);
    await eventually(() => expect(bodies.length).toBe(3));
    expect(link?.capacity).toBe(0);
    receiver.add_credit(2);
    await eventually(() => expect(bodies.length).toBe(5));
  });

  it('answer a drain with the rest of the credit, also when it is used up', async () => {
    const { port, service } = await startServer();
    const receiver = connectClient(port).open_receiver({ source: 'queue', credit_window: 0 });
    await event(receiver, 'receiver_open');
    let deliveries = 0;
    service.onCredit = (link) => {
      while (link.capacity > 0 && deliveries < 2) {
        deliveries += 1;
        link.deliver({ payload: encoded('m') });
      }
    };
    receiver.add_credit(5);
    receiver.drain_credit();
    await event(receiver, 'receiver_drained');
    deliveries = 0;
    receiver.add_credit(2);
    receiver.drain_credit();
    await event(receiver, 'receiver_drained');
    expect(deliveries).toBe(2);
    expect(service.consumers[0]?.capacity).toBe(0);
  });

  it('deliver far more than a session buffer to a client that never settles by itself', async () => {
    const { port, service } = await startServer();
    const total = 6000;
    let delivered = 0;
    const answered: string[] = [];
    service.onCredit = (link) => {
      while (link.capacity > 0 && delivered < total) {
        link.deliver({
          payload: encoded(String(delivered++)),
          onOutcome: (delivery: OutgoingDelivery, outcome: DeliveryOutcome) => {
            answered.push(outcome.kind);
            delivery.settle(outcome);
          },
        });
      }
    };
    const receiver = connectClient(port).open_receiver({
      source: 'queue',
      credit_window: 100,
      autoaccept: false,
      autosettle: true,
      rcv_settle_mode: 1,
      snd_settle_mode: 0,
    });
    let settled = 0;
    receiver.on('settled', () => (settled += 1));
    receiver.on('message', ({ delivery }) => delivery?.update(false, accepted()));
    await eventually(() => expect(settled).toBe(total));
    expect(answered.length).toBe(total);
  });

  it('report each outcome with its fields', async () => {
    const { port, service } = await startServer();
    const outcomes: DeliveryOutcome[] = [];
    service.onCredit = (link) => {
      while (link.capacity > 0 && service.received.length === 0) {
        link.deliver({
          payload: encoded('m'),
          onOutcome: (delivery, outcome) => {
            outcomes.push(outcome);
            delivery.settle(outcome.kind === 'rejected' ? { kind: 'rejected' } : outcome);
          },
        });
      }
    };
    const receiver = connectClient(port).open_receiver({ source: 'queue', credit_window: 0, autoaccept: false });
    receiver.add_credit(4);
    const settle: ((delivery: Delivery) => void)[] = [
      (delivery) => delivery.accept(),
      (delivery) => delivery.release(),
      (delivery) => delivery.modified({ undeliverable_here: true, message_annotations: { key: 'value' } }),
      (delivery) => delivery.reject({ condition: 'com.microsoft:dead-letter', info: { reason: 'bad' } }),
    ];
    const deliveries: Delivery[] = [];
    receiver.on('message', ({ delivery }) => delivery && deliveries.push(delivery));
    await eventually(() => expect(deliveries.length).toBe(4));
    for (const [index, delivery] of deliveries.entries()) {
      settle[index]?.(delivery);
      // The client's rhea gives neighbours that are settled in one tick the outcome of the first.
      await eventually(() => expect(outcomes.length).toBe(index + 1));
    }
    expect(outcomes).toEqual([
      { kind: 'accepted' },
      { kind: 'released' },
      { kind: 'modified', deliveryFailed: false, undeliverableHere: true, annotations: { key: 'value' } },
      {
        kind: 'rejected',
        error: { condition: 'com.microsoft:dead-letter', description: '', info: { reason: 'bad' } },
      },
    ]);
  });

  it('get large messages in the frames and the window they allow', async () => {
    const { port, service } = await startServer();
    const body = 'y'.repeat(300_000);
    let delivered = 0;
    service.onCredit = (link) => {
      while (link.capacity > 0 && delivered < 20) {
        delivered += 1;
        link.deliver({ payload: encoded(`${delivered} ${body}`) });
      }
    };
    const client = connectClient(port, { max_frame_size: 4096, session_buffer_size: 100 });
    const receiver = client.open_receiver({ source: 'queue', credit_window: 4 });
    const bodies: string[] = [];
    receiver.on('message', ({ message }) => bodies.push(String(message?.body)));
    await eventually(() => expect(bodies.length).toBe(20));
    expect(bodies.every((each, index) => each === `${index + 1} ${body}`)).toBe(true);
  });
});

describe('failures', () => {
  it('of a service close the link that met them, and nothing else', async () => {
    const { port, service } = await startServer();
    service.onCredit = () => {
      throw new Error('a defect');
    };
    const connection = connectClient(port);
    const receiver = connection.open_receiver({ source: 'queue', credit_window: 1 });
    const { receiver: closed } = await event(receiver, 'receiver_error');
    expect(closed?.error).toMatchObject({
      condition: 'amqp:internal-error',
      description: 'The emulator failed: a defect',
    });
    service.onCredit = () => undefined;
    await event(connection.open_receiver('queue'), 'receiver_open');
  });

  it('to answer a request close its link, and nothing else', async () => {
    const { port } = await startServer();
    const connection = connectClient(port);
    await event(connection.open_receiver({ source: 'queue/$management', name: 'replies' }), 'receiver_open');
    const sender = connection.open_sender('queue/$management');
    await event(sender, 'sendable');
    // A message id must be a string, an unsigned number, a uuid or binary.
    const properties = Buffer.from([0x00, 0x53, 0x73, 0xc0, 0x02, 0x01, 0x41]);
    const value = Buffer.from([0x00, 0x53, 0x77, 0x40]);
    sender.send(Buffer.concat([properties, value]), undefined, 0);
    const { sender: closed } = await event(sender, 'sender_error');
    expect(closed?.error).toMatchObject({ condition: 'amqp:internal-error' });
    await event(connection.open_sender('queue'), 'sendable');
  });

  it('of clients that send broken frames end their connections only', async () => {
    const { port } = await startServer();
    const random = seededRandomness(7);
    const frames = await recordClient();
    for (let run = 0; run < 60; run += 1) {
      const bytes = Buffer.from(frames);
      for (let i = 0; i < 1 + (run % 5); i += 1) {
        bytes[8 + Math.floor(random.fraction() * (bytes.length - 8))] = Math.floor(random.fraction() * 256);
      }
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined).resume();
      socket.end(bytes);
      await once(socket, 'close');
    }
    const { sender } = await event(connectClient(port).open_sender('queue'), 'sendable');
    expect(sender?.is_open()).toBe(true);
  });
});

/** What a client without SASL sends to open a connection, two links and a message. */
async function recordClient(): Promise<Buffer> {
  const { port } = await startServer();
  const chunks: Buffer[] = [];
  const connection = connectClient(port, { username: undefined });
  const { socket } = connection as unknown as { socket: Socket };
  const write = socket.write.bind(socket);
  socket.write = (chunk: Buffer) => {
    chunks.push(Buffer.from(chunk));
    return write(chunk);
  };
  const sender = connection.open_sender('queue');
  const receiver = connection.open_receiver({ source: { address: 'queue', filter: { a: 'b' } } });
  await Promise.all([event(sender, 'sendable'), event(receiver, 'receiver_open')]);
  sender.send({ body: 'x', application_properties: { a: 1 } });
  await event(sender, 'accepted');
  return Buffer.concat(chunks);
}

describe('request nodes', () => {
  it('answer requests with the status, the body and the correlation id', async () => {
    const { port, service } = await startServer();
    const connection = connectClient(port);
    const receiver = connection.open_receiver({ source: 'queue/$management', name: 'replies' });
    const sender = connection.open_sender('queue/$management');
    await event(sender, 'sendable');
    sender.send({
      message_id: 'r1',
      reply_to: 'replies',
      application_properties: { operation: 'echo' },
      body: { a: 1 },
    });
    const { message } = await event(receiver, 'message');
    expect(message).toMatchObject({
      correlation_id: 'r1',
      application_properties: { 'status-code': 200, statusCode: 200 },
      body: { echoed: { a: 1 } },
    });
    sender.send({ message_id: 'r2', reply_to: 'replies', application_properties: { operation: 'fail' }, body: {} });
    const { message: failure } = await event(receiver, 'message');
    expect(failure?.application_properties).toMatchObject({
      'status-code': 500,
      'status-description': 'The emulator failed: it failed',
    });
    expect(service.requests.map(({ operation }) => operation)).toEqual(['echo', 'fail']);
  });
});

describe('one port', () => {
  it.each([
    ['with SASL ANONYMOUS', { username: 'any' }],
    ['with SASL PLAIN', { username: 'any', password: 'any' }],
    ['without SASL', { username: undefined }],
  ])('opens a connection %s', async (_what, options) => {
    const { port } = await startServer();
    const { sender } = await event(connectClient(port, options).open_sender('queue'), 'sendable');
    expect(sender?.is_open()).toBe(true);
  });

  it('serves HTTP beside AMQP', async () => {
    const { port } = await startServer({ http: (_request, response) => response.end('hello') });
    const response = await fetch(`http://127.0.0.1:${port}/`);
    expect(await response.text()).toBe('hello');
    await event(connectClient(port).open_sender('queue'), 'sendable');
  });

  it('refuses TLS with an alert and says what to do', async () => {
    const { port, problems } = await startServer();
    const socket = connect(port, '127.0.0.1');
    socket.write(Buffer.from([0x16, 0x03, 0x01, 0x00, 0x05]));
    const [alert] = (await once(socket, 'data')) as [Buffer];
    expect([...alert]).toEqual([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28]);
    expect(problems.join()).toContain('UseDevelopmentEmulator=true');
    socket.destroy();
  });

  it('serves AMQP and HTTPS over TLS when it has a certificate', async () => {
    const tls = selfSigned('localhost');
    const { port } = await startServer({ tls, http: (_request, response) => response.end('secured') });
    const client = { transport: 'tls', ca: tls.cert, servername: 'localhost' };
    const { sender } = await event(connectClient(port, client).open_sender('queue'), 'sendable');
    expect(sender?.is_open()).toBe(true);
    const text = await new Promise((resolve, reject) => {
      get({ port, host: '127.0.0.1', servername: 'localhost', ca: tls.cert }, (response) => {
        response.setEncoding('utf8').once('data', resolve);
      }).once('error', reject);
    });
    expect(text).toBe('secured');
    await event(connectClient(port).open_sender('queue'), 'sendable'); // plain beside it
  });

  it.each([
    ['garbage behind the first byte', Buffer.from('AMQX\x00\x01\x00\x00')],
    ['an unknown version', Buffer.from('AMQP\x00\x00\x09\x01')],
    ['a frame of four gigabytes', Buffer.from('AMQP\x00\x01\x00\x00\xff\xff\xff\xff\x02\x00\x00\x00', 'latin1')],
    [
      'a frame that cannot be decoded',
      Buffer.from('AMQP\x00\x01\x00\x00\x00\x00\x00\x0a\x02\x00\x00\x00\xff\xff', 'latin1'),
    ],
  ])('cuts a client that sends %s, and serves the others', async (_what, bytes) => {
    const { port } = await startServer();
    const socket: Socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.resume();
    socket.write(bytes);
    await once(socket, 'close');
    const { sender } = await event(connectClient(port).open_sender('queue'), 'sendable');
    expect(sender?.is_open()).toBe(true);
  });

  it('ignores frames of a session that has just ended', async () => {
    const { port } = await startServer();
    const connection = connectClient(port);
    await event(connection.open_sender('queue'), 'sendable');
    const { socket } = connection as unknown as { socket: Socket };
    // A settled disposition and a flow on channel 77, which never began.
    const disposition = [0x00, 0x53, 0x15, 0xc0, 0x08, 0x04, 0x41, 0x52, 0x01, 0x52, 0x01, 0x41];
    const flow = [0x00, 0x53, 0x13, 0xc0, 0x06, 0x04, 0x43, 0x43, 0x43, 0x43];
    for (const body of [disposition, flow]) {
      socket.write(Buffer.from([0, 0, 0, 8 + body.length, 2, 0, 0, 77, ...body]));
    }
    const { receiver } = await event(connection.open_receiver('queue'), 'receiver_open');
    expect(receiver?.is_open()).toBe(true);
  });
});

function accepted(): object {
  return (rhea.message as unknown as { accepted(): { described(): object } }).accepted().described();
}
