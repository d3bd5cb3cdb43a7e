import { QueueServiceClient, type QueueClient } from '@azure/storage-queue';
import type { Child } from '@drover/testkit';
import { freePorts } from './free-ports.js';
import { logOf } from './functions.js';

const accountKey = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

export interface DevelopmentPorts {
  readonly amqp: number;
  readonly blob: number;
  readonly queue: number;
  readonly table: number;
}

export async function developmentPorts(): Promise<DevelopmentPorts> {
  const [amqp = 0, blob = 0, queue = 0, table = 0] = await freePorts(4);
  return { amqp, blob, queue, table };
}

/** Settings of an application that names emulators on these ports, as a developer would write them. */
export function developmentSettings({ amqp, blob, queue, table }: DevelopmentPorts): {
  readonly AzureWebJobsStorage: string;
  readonly ServiceBus: string;
  readonly EventHubs: string;
  readonly DROVER_EMULATORS: string;
} {
  const endpoint = (service: string, port: number): string =>
    `${service}Endpoint=http://127.0.0.1:${port}/devstoreaccount1;`;
  const bus = `Endpoint=sb://localhost:${amqp};SharedAccessKeyName=any;SharedAccessKey=any;UseDevelopmentEmulator=true;`;
  return {
    AzureWebJobsStorage: `DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=${accountKey};${endpoint('Blob', blob)}${endpoint('Queue', queue)}${endpoint('Table', table)}`,
    ServiceBus: bus,
    EventHubs: bus,
    DROVER_EMULATORS: 'on', // the default of users; tests have them off
  };
}

/** Pids of the emulator processes that a `drover up` has started so far. */
export function startedEmulators(up: Child): number[] {
  return logOf(up).flatMap(({ kind, role, pid }) => (kind === 'up.ready' && role === 'emulators' ? [Number(pid)] : []));
}

/** Messages about emulators in the log of a process. */
export function saidAboutEmulators(child: Child): string[] {
  return logOf(child).flatMap(({ kind, msg }) => (kind?.startsWith('emulators.') ? [msg] : []));
}

/** The queue of a storage account, created if it does not exist. */
export async function queueOf(connectionString: string, name: string): Promise<QueueClient> {
  const queue = QueueServiceClient.fromConnectionString(connectionString).getQueueClient(name);
  await queue.createIfNotExists();
  return queue;
}

/** A message as senders put it into a queue. */
export const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');

/** Ids of the receipts that the orders app has written, each message read once. */
export async function receipts(queue: QueueClient, seen: Set<number>): Promise<Set<number>> {
  const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32, visibilityTimeout: 600 });
  for (const { messageText } of receivedMessageItems)
    seen.add((JSON.parse(Buffer.from(messageText, 'base64').toString()) as { receiptFor: number }).receiptFor);
  return seen;
}
