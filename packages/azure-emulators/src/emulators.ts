import type { EntityConsole, EntityStatus } from './entity-console.js';
import type { Entities } from './entities/entities.js';
import type { StorageView } from './storage-view.js';

/** Service Bus and Event Hubs share the AMQP port. */
export type EmulatorPort = 'amqp' | 'blob' | 'queue' | 'table';

/** Ports of the SDKs when a connection string names none. */
export const defaultPorts: Readonly<Record<EmulatorPort, number>> = {
  amqp: 5672,
  blob: 10_000,
  queue: 10_001,
  table: 10_002,
};

export interface EmulatorsOptions {
  /** Address to listen on; 127.0.0.1 by default. The emulators accept public keys: never listen on a network you do not trust. */
  readonly host?: string;
  /** Ports to listen on; 0 selects a free one. A service without a port is not started. Default: all, on `defaultPorts`. */
  readonly ports?: Partial<Readonly<Record<EmulatorPort, number>>>;
  /** Further ports of Service Bus and Event Hubs, for clients that cannot be told one: 5671 for TLS, 443 for WebSockets, 5300 for HTTP. */
  readonly moreAmqpPorts?: readonly number[];
  /** Where messages, events and blobs are stored durably. Without it they are in memory. */
  readonly dataDirectory?: string;
  /** Entities that exist from the start; others are made on first use. */
  readonly entities?: Entities;
  /** Bound of the messages in memory, of each service; what exceeds it is refused. Default: 512 MiB. */
  readonly maxBytes?: number;
  /** False: Service Bus and Event Hubs refuse names that are not declared, as in Azure. */
  readonly createOnFirstUse?: boolean;
  /** Told one sentence about what a developer should know, such as a journal whose last record was torn. */
  readonly warn?: (sentence: string) => void;
}

/** Connection strings for unmodified SDKs; undefined if the service was not started. */
export interface EmulatorConnectionStrings {
  /** With `UseDevelopmentEmulator=true`. */
  readonly serviceBus: string | undefined;
  readonly eventHubs: string | undefined;
  /** `UseDevelopmentStorage=true` on the default ports, else all endpoints. */
  readonly storage: string | undefined;
}

/** Running emulators. */
export interface Emulators {
  readonly host: string;
  /** The ports that are listened on. */
  readonly ports: Partial<Readonly<Record<EmulatorPort, number>>>;
  /** Certificate of Service Bus and Event Hubs in PEM, for clients that use TLS. It is stored in the data directory. */
  readonly certificate: string | undefined;
  readonly connectionStrings: EmulatorConnectionStrings;
  /** Services whose messages can be looked at, by name. */
  readonly consoles: ReadonlyMap<string, EntityConsole>;
  /** Blobs and tables, for looking at them. */
  readonly storage: readonly StorageView[];
  /** Creates the entities that do not exist. Those that exist stay as they are. */
  declare(entities: Entities): Promise<void>;
  /** All entities with messages; cheap enough for every second. */
  status(): readonly EntityStatus[];
  /** Stops listening, and resolves when everything accepted is durable. Safe to call twice. */
  stop(): Promise<void>;
}
