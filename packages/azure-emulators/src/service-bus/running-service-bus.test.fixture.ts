import {
  ServiceBusAdministrationClient,
  ServiceBusClient,
  type ServiceBusReceivedMessage,
  type ServiceBusReceiver,
} from '@azure/service-bus';
import { AmqpServer } from '../amqp/amqp-server.js';
import type { Entities } from '../entities/entities.js';
import { startServiceBus, type ServiceBus, type ServiceBusOptions } from './service-bus.js';

/** The SDK waits 30 s between two attempts by default. */
const retryOptions = { maxRetries: 1, retryDelayInMs: 50, timeoutInMs: 10_000 };

export interface RunningServiceBus {
  readonly bus: ServiceBus;
  readonly server: AmqpServer;
  readonly client: ServiceBusClient;
  readonly admin: ServiceBusAdministrationClient;
  readonly connectionString: string;
  /** One more client, on its own connection; closed with the others. */
  connect(): ServiceBusClient;
  stop(): Promise<void>;
}

type TestEntities = Partial<Pick<Entities, 'queues' | 'topics'>>;

/** Starts the emulator on a free port, and the unmodified SDK against it. */
export async function runServiceBus(
  entities: TestEntities = {},
  options: Omit<ServiceBusOptions, 'entities'> & { readonly port?: number } = {},
): Promise<RunningServiceBus> {
  const bus = await startServiceBus({ ...options, entities: { queues: [], topics: [], ...entities } });
  const server = new AmqpServer({ services: [bus.service], http: bus.admin, port: options.port ?? 0 });
  const port = await server.start();
  const connectionString = `Endpoint=sb://localhost:${port};SharedAccessKeyName=any;SharedAccessKey=any;UseDevelopmentEmulator=true;`;
  const clients: ServiceBusClient[] = [];
  const connect = (): ServiceBusClient => {
    const client = new ServiceBusClient(connectionString, { retryOptions });
    clients.push(client);
    return client;
  };
  return {
    bus,
    server,
    client: connect(),
    admin: plainHttpAdmin(connectionString),
    connectionString,
    connect,
    stop: async () => {
      await Promise.all(clients.map((client) => client.close()));
      await server.stop();
      await bus.stop();
    },
  };
}

/** The SDK's admin client always uses https; a policy on its public pipeline makes it plain http. */
function plainHttpAdmin(connectionString: string): ServiceBusAdministrationClient {
  const admin = new ServiceBusAdministrationClient(connectionString, { retryOptions: { maxRetries: 0 } });
  admin.pipeline.addPolicy({
    name: 'plainHttp',
    sendRequest: (request, next) => {
      request.url = request.url.replace(/^https:/, 'http:');
      request.allowInsecureConnection = true;
      return next(request);
    },
  });
  return admin;
}

/** Receives exactly `count` messages, over several calls if need be. */
export async function receive(receiver: ServiceBusReceiver, count: number): Promise<ServiceBusReceivedMessage[]> {
  const messages: ServiceBusReceivedMessage[] = [];
  while (messages.length < count) {
    const some = await receiver.receiveMessages(count - messages.length, { maxWaitTimeInMs: 5_000 });
    if (some.length === 0) throw new Error(`received ${messages.length} of ${count} messages`);
    messages.push(...some);
  }
  return messages;
}

export async function receiveOne(receiver: ServiceBusReceiver): Promise<ServiceBusReceivedMessage> {
  const [message] = await receive(receiver, 1);
  if (message === undefined) throw new Error('no message');
  return message;
}
