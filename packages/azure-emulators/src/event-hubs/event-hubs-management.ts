import { amqpConditions, entityNotFound, type ManagementReply, type ManagementRequest } from '../amqp/amqp-service.js';
import { amqpValue } from '../amqp/values.js';
import type { EventHub, Partition } from './event-hub.js';
import type { EventHubs } from './event-hubs.js';

/** Answers READ requests about a hub or a partition. */
export function readManagement(hubs: EventHubs, request: ManagementRequest): ManagementReply {
  const { name, type, partition: partitionId } = request.properties;
  if (request.operation !== 'READ' || typeof name !== 'string') {
    const description = `The operation '${request.operation}' is not offered. Send READ with the name of an event hub.`;
    return { status: 400, condition: amqpConditions.notImplemented, description };
  }
  const hub = hubs.find(name);
  if (!hub) return { status: 404, ...entityNotFound(name) };
  if (type === 'com.microsoft:eventhub') return { status: 200, body: describeHub(hub) };
  if (type !== 'com.microsoft:partition') {
    const description = `The type '${String(type)}' is unknown. Use com.microsoft:eventhub or com.microsoft:partition.`;
    return { status: 400, condition: amqpConditions.argumentError, description };
  }
  const partition = hub.partition(String(partitionId));
  if (!partition) {
    const description = `The partition '${String(partitionId)}' does not exist in event hub ${hub.name}.`;
    return { status: 400, condition: amqpConditions.argumentOutOfRange, description };
  }
  hubs.trim(partition);
  return { status: 200, body: describePartition(hub, partition) };
}

function describeHub(hub: EventHub): Record<string, unknown> {
  return {
    name: hub.name,
    type: 'com.microsoft:eventhub',
    created_at: amqpValue.timestamp(hub.createdMs),
    partition_count: amqpValue.int(hub.partitions.length),
    partition_ids: amqpValue.array(
      'string',
      hub.partitions.map(({ id }) => id),
    ),
    georeplication_factor: amqpValue.int(1),
  };
}

function describePartition(hub: EventHub, { id, log }: Partition): Record<string, unknown> {
  const last = log.lastEnqueued ?? { sequence: -1, offset: -1, enqueuedMs: 0 };
  return {
    name: hub.name,
    type: 'com.microsoft:partition',
    partition: id,
    begin_sequence_number: amqpValue.long(log.beginSequence),
    last_enqueued_sequence_number: amqpValue.long(last.sequence),
    last_enqueued_offset: String(last.offset),
    last_enqueued_time_utc: amqpValue.timestamp(last.enqueuedMs),
    is_partition_empty: log.isEmpty,
  };
}
