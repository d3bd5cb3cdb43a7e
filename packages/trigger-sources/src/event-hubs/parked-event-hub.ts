import type { Clock } from '@drover/service-kit';
import { authorityOf } from '../amqp/shared-access.js';
import type { NotifyingEndpoint, ParkedSource, WorkInterest } from '../parked-trigger.js';
import { secretFingerprint } from '../secret-fingerprint.js';
import { AmqpHubClient } from './amqp-hub-client.js';
import type { CheckpointStore, HubCheckpoint } from './checkpoint-store.js';
import type { EventHubConnection } from './event-hub-connection.js';
import type { HubClient, PartitionEnds } from './hub-client.js';
import type { InitialOffset } from './option-kinds.js';
import { startPosition } from './start-position.js';

interface ParkedEventHubOptions {
  readonly connection: EventHubConnection;
  readonly hub: string;
  readonly consumerGroup: string;
  readonly customEndpointAddress: string | undefined;
  readonly initial: InitialOffset;
  readonly store: CheckpointStore;
  /** The owner of the checkpoints: two applications have two positions in one hub. */
  readonly application: string;
  readonly functionName: string;
  readonly tryTimeoutMs: number;
  readonly clock: Clock;
  readonly uuid: () => string;
}

const longestPollMs = 10_000;

/** How events in a hub are noticed: an emulator tells, of the cloud service the ends of partitions are compared with the checkpoints. */
export function parkedEventHub(options: ParkedEventHubOptions): ParkedSource {
  const { connection, hub, consumerGroup, customEndpointAddress, initial, store, application, functionName } = options;
  const access = `${hubAddress(connection, hub)} ${fingerprintOf(connection)} ${customEndpointAddress ?? ''}`;
  return {
    kind: 'source',
    key: `event hub group ${consumerGroup} of ${application} ${functionName} at ${access}`,
    name: `event hub ${hub}`,
    address: hubAddress(connection, hub),
    notifications: notificationsOf(options),
    longestPollMs,
    hasWork: async (clients, signal) => {
      const client = clients.get(`event hub ${access}`, () => new AmqpHubClient(options));
      return await hubHasWork(client, await store.checkpoints(signal), initial, signal);
    },
    preload: () => import('rhea'),
  };
}

/** The address that outputs wake. */
export function hubAddress(connection: EventHubConnection, hub: string): string {
  return `event hub ${authorityOf(connection)}/${hub}`.toLowerCase();
}

/** Whether a partition has an event behind the position of the consumer group, or a position that has to be written down first. */
async function hubHasWork(
  client: HubClient,
  checkpoints: readonly HubCheckpoint[],
  initial: InitialOffset,
  signal: AbortSignal,
): Promise<boolean> {
  const { partitionIds, createdAtMs: hubCreatedAtMs } = await client.describe(signal);
  for (const partitionId of partitionIds) {
    const ends = await client.ends(partitionId, signal);
    const checkpoint = checkpoints.find((candidate) => candidate.partitionId === partitionId);
    if (isBehind(startPosition({ checkpoint, ends, hubCreatedAtMs, initial }), ends)) return true;
  }
  return false;
}

function isBehind({ position, firstCheckpoint }: ReturnType<typeof startPosition>, ends: PartitionEnds): boolean {
  // A reader that begins at the end writes its position first. Until then, the end moves on and events would be passed over.
  if (firstCheckpoint) return true;
  const { first, last, lastOffset, lastEnqueuedAtMs } = ends;
  if (last < first) return false;
  switch (position.kind) {
    case 'start':
      return true;
    case 'end':
      return false;
    case 'time':
      return lastEnqueuedAtMs > position.enqueuedAtMs;
    case 'after':
      return last > position.sequenceNumber;
    case 'after-offset':
      return lastOffset !== position.offset;
  }
}

function notificationsOf(options: ParkedEventHubOptions): NotifyingEndpoint | undefined {
  const { connection, hub, customEndpointAddress, initial, store } = options;
  if (connection.isEncrypted || customEndpointAddress !== undefined) return undefined;
  const origin = `http://${connection.host}:${connection.port}`;
  return { origin, interest: async (signal) => interestIn(hub, await store.checkpoints(signal), initial) };
}

function interestIn(hub: string, checkpoints: readonly HubCheckpoint[], initial: InitialOffset): WorkInterest {
  const positions: Record<string, number> = {};
  for (const { partitionId, sequenceNumber } of checkpoints)
    if (sequenceNumber !== undefined) positions[partitionId] = sequenceNumber;
  const createdAtMs = checkpoints.find(({ hubCreatedAtMs }) => Number.isFinite(hubCreatedAtMs))?.hubCreatedAtMs;
  return {
    service: 'event-hubs',
    entity: hub,
    positions,
    ...(createdAtMs !== undefined && { createdAtMs }),
    initial: initial.kind === 'time' ? initial.enqueuedAtMs : initial.kind,
  };
}

function fingerprintOf({ access }: EventHubConnection): string {
  return secretFingerprint(access.kind === 'signature' ? access.signature : access.key);
}
