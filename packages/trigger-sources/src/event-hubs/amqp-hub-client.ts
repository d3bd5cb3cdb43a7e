import type { Clock } from '@drover/service-kit';
import type { Connection, EventContext, Message, Receiver, Session } from 'rhea';
import { toConditionError } from '../amqp/amqp-condition-error.js';
import { NamespaceClient } from '../amqp/namespace-client.js';
import type { NamespaceConnection } from '../amqp/namespace-connection.js';
import { rejectOnAbort, withDeadline } from '../requests.js';
import type { EventHubConnection } from './event-hub-connection.js';
import type { HubClient, ReadPosition, HubDescription, PartitionEnds, HubReader, ReadRequest } from './hub-client.js';
import { toHubEvent } from './hub-event.js';
import { readHubEvent } from './read-hub-event.js';

interface AmqpHubClientOptions {
  readonly connection: EventHubConnection;
  readonly hub: string;
  readonly customEndpointAddress: string | undefined;
  readonly clock: Clock;
  /** Time limit of one request, connecting included. */
  readonly tryTimeoutMs: number;
  readonly uuid: () => string;
}

/**
 * An event hub over AMQP. All readers and requests share one connection, which is opened when it is needed and opened again
 * after it was lost. The receive loop of the SDK is not used: it holds every first event back for 20 ms, and hands events over
 * through a timer each (docs/decisions/0035-event-hubs.md has the measurements).
 */
export class AmqpHubClient implements HubClient {
  readonly #options: AmqpHubClientOptions;
  readonly name: string;
  readonly host: string;
  readonly #namespace: NamespaceClient;

  constructor(options: AmqpHubClientOptions) {
    this.#options = options;
    this.name = options.hub;
    this.host = options.connection.host;
    this.#namespace = new NamespaceClient({ ...options, namespace: options.connection, product: 'drover-event-hubs' });
  }

  describe(signal: AbortSignal): Promise<HubDescription> {
    return this.#request(signal, async (connection, limited) => {
      const { body } = await this.#read(connection, { type: 'com.microsoft:eventhub' }, limited);
      const { partition_ids: ids, created_at: createdAt } = fields(body);
      if (!Array.isArray(ids)) throw new Error('the service described the hub without its partitions');
      return { partitionIds: ids.map(String), createdAtMs: Number(createdAt) };
    });
  }

  ends(partitionId: string, signal: AbortSignal): Promise<PartitionEnds> {
    return this.#request(signal, async (connection, limited) => {
      const entity = { type: 'com.microsoft:partition', partition: partitionId };
      const found = fields((await this.#read(connection, entity, limited)).body);
      return {
        first: Number(found['begin_sequence_number']),
        last: Number(found['last_enqueued_sequence_number']),
        lastOffset: String(found['last_enqueued_offset']),
        lastEnqueuedAtMs: Number(found['last_enqueued_time_utc']),
      };
    });
  }

  read(request: ReadRequest, signal: AbortSignal): Promise<HubReader> {
    const address = `${this.name}/ConsumerGroups/${request.consumerGroup}/Partitions/${request.partitionId}`;
    return this.#request(signal, async (connection, limited) => {
      await connection.authorize(address, limited);
      const { types, message } = (await import('rhea')).default;
      const onMessage = (bytes: Buffer): void =>
        request.onEvent(readHubEvent(bytes) ?? toHubEvent(message.decode(bytes) as unknown as Message));
      const reader = new AmqpHubReader(connection.amqp, connection.lost, onMessage, {
        name: `${address}-${this.#options.uuid()}`,
        source: {
          address,
          filter: {
            'apache.org:selector-filter:string': types.wrap_described(selectorOf(request.position), 0x468c00000004),
          },
        },
        properties: { 'com.microsoft:epoch': types.wrap_long(request.ownerLevel) },
      });
      void reader.ended.then(() => connection.release(address));
      await reader.opened(limited);
      return reader;
    });
  }

  close(): Promise<void> {
    return this.#namespace.close();
  }

  /** Reads properties of the hub or of a partition. */
  async #read(
    connection: NamespaceConnection,
    entity: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Message> {
    const management = await connection.management(this.name, signal);
    const properties = {
      operation: 'READ',
      name: this.name,
      security_token: connection.tokenFor(this.name),
      ...entity,
    };
    return await management.request({ body: Buffer.from('[]'), application_properties: properties }, signal);
  }

  async #request<T>(
    signal: AbortSignal,
    call: (connection: NamespaceConnection, limited: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { clock, tryTimeoutMs } = this.#options;
    return await withDeadline(clock, tryTimeoutMs, signal, async (limited) => {
      const connection = await rejectOnAbort(() => this.#namespace.connected(), limited);
      return await call(connection, limited);
    });
  }
}

class AmqpHubReader implements HubReader {
  readonly #receiver: Receiver;
  readonly ended: Promise<unknown>;
  readonly #opened: Promise<void>;
  #end: (reason: unknown) => void = () => undefined;
  #isEnded = false;

  constructor(
    connection: Connection,
    connectionLost: Promise<unknown>,
    onMessage: (bytes: Buffer) => void,
    link: Readonly<Record<string, unknown>>,
  ) {
    this.ended = new Promise((resolve) => {
      this.#end = (reason) => {
        this.#isEnded = true;
        resolve(reason);
      };
    });
    void connectionLost.then((reason) => this.#end(reason));
    const session = connection.create_session();
    session.on('session_error', () => this.#end(toConditionError(session.error)));
    session.on('session_close', () => this.#end(new Error('the service closed the session')));
    leaveEncoded(session);
    session.begin();
    this.#receiver = session.open_receiver({ ...link, credit_window: 0, autoaccept: true });
    this.#receiver.on('message', ({ message }: Omit<EventContext, 'message'> & { readonly message?: unknown }) => {
      // Events that arrive after the end are not lost: they are read again from the position of the next reader.
      if (Buffer.isBuffer(message) && !this.#isEnded) onMessage(message);
    });
    this.#receiver.on('receiver_error', () => this.#end(toConditionError(this.#receiver.error)));
    this.#receiver.on('receiver_close', () => this.#end(new Error('the service closed the reader')));
    this.#opened = new Promise((resolve) => {
      this.#receiver.on('receiver_open', () => {
        // Without a source, the service refuses the link, and its error follows.
        if (this.#receiver.source) resolve();
      });
    });
  }

  /** Resolves when the service has accepted the reader. */
  async opened(signal: AbortSignal): Promise<void> {
    const aborted = new Promise((resolve) =>
      signal.addEventListener('abort', () => resolve(signal.reason), { once: true }),
    );
    const failure = await Promise.race([this.#opened, this.ended, aborted]);
    if (failure === undefined) return;
    this.close();
    throw failure;
  }

  addCredit(events: number): void {
    if (!this.#isEnded) this.#receiver.add_credit(events);
  }

  close(): void {
    this.#end(new Error('the reader was closed'));
    this.#receiver.session.close();
  }
}

/** rhea decodes messages of format 0, the only one in use, and passes the bytes of every other format on. */
function leaveEncoded(session: Session): void {
  const transfers = session as unknown as {
    on_transfer(frame: { readonly performative: { message_format: number | null | undefined } }): void;
  }; // internal, and not in its types
  const receive = transfers.on_transfer.bind(session);
  transfers.on_transfer = (frame) => {
    frame.performative.message_format = 1;
    receive(frame);
  };
}

function selectorOf(position: ReadPosition): string {
  switch (position.kind) {
    case 'start':
      return `amqp.annotation.x-opt-offset > '-1'`;
    case 'end':
      return `amqp.annotation.x-opt-offset > '@latest'`;
    case 'time':
      return `amqp.annotation.x-opt-enqueued-time > '${position.enqueuedAtMs}'`;
    case 'after':
      return `amqp.annotation.x-opt-sequence-number > '${position.sequenceNumber}'`;
    case 'after-offset':
      return `amqp.annotation.x-opt-offset > '${position.offset}'`;
  }
}

function fields(body: Message['body']): Readonly<Record<string, unknown>> {
  if (typeof body !== 'object' || body === null) throw new Error('the service answered without properties');
  return body as Readonly<Record<string, unknown>>; // a map of AMQP
}
