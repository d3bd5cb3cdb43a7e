import type { Clock } from '@drover/service-kit';
import type { WarmNamespaces } from '../amqp/warm-namespaces.js';
import type { NotifyingEndpoint, ParkedSource } from '../parked-trigger.js';
import { secretFingerprint } from '../secret-fingerprint.js';
import { BusPeeks } from './bus-peeks.js';
import { busProduct, type ServiceBusConnection } from './service-bus-connection.js';
import type { ServiceBusTriggerOptions } from './service-bus-options.js';

interface ParkedBusEntityOptions {
  readonly connection: ServiceBusConnection;
  readonly options: Pick<ServiceBusTriggerOptions, 'entity' | 'isSessions'>;
  readonly warmNamespaces: WarmNamespaces | undefined;
  readonly clock: Clock;
}

const longestPollMs = 10_000;
const defaultPort = 5672;

/** How messages in a queue or subscription are noticed: an emulator tells, the cloud service is peeked at. */
export function parkedBusEntity({ connection, options, warmNamespaces, clock }: ParkedBusEntityOptions): ParkedSource {
  const { entity, isSessions } = options;
  const access = `${connection.endpoint} ${secretFingerprint(connection.connectionString)}`;
  return {
    kind: 'source',
    key: `service bus ${entity.path.toLowerCase()} of ${access}`,
    name: `Service Bus entity ${entity.path}`,
    // Only the service itself writes dead letters.
    address: entity.isDeadLetterQueue ? undefined : busAddress(connection, entity.name),
    notifications: notificationsOf(connection, entity.path, isSessions),
    longestPollMs,
    hasWork: (clients, signal) =>
      clients.get(`service bus ${access}`, () => new BusPeeks(connection, clock)).hasActive(entity.path, signal),
    preload: () => import('@azure/service-bus'),
    // Sessions are received by the SDK, over connections of its own.
    ...(warmNamespaces &&
      !isSessions && {
        keepReady: () => warmNamespaces.keep({ namespace: connection.namespace, product: busProduct }),
      }),
  };
}

/** The address of a queue or topic that outputs wake: subscriptions are woken by the name of their topic. */
export function busAddress({ endpoint }: ServiceBusConnection, entityName: string): string {
  return `${endpoint}${entityName.toLowerCase()}`;
}

function notificationsOf(
  { endpoint, isEmulator }: ServiceBusConnection,
  entity: string,
  hasSessions: boolean,
): NotifyingEndpoint | undefined {
  if (!isEmulator) return undefined;
  const { hostname, port } = new URL(endpoint.replace(/^sb:/, 'http:'));
  const origin = `http://${hostname}:${port === '' ? defaultPort : port}`;
  return { origin, interest: () => Promise.resolve({ service: 'service-bus', entity, hasSessions }) };
}
