import type { AmqpService } from '../amqp/amqp-service.js';
import type { EntityConsole } from '../entity-console.js';
import { WorkNotes, type WorkSource } from '../notifications/work-notes.js';
import { EventHubs, type EventHubSpec, type EventHubsOptions } from './event-hubs.js';
import { EventHubsConsole } from './event-hubs-console.js';
import { EventHubsJournal } from './event-hubs-journal.js';
import { EventHubsService } from './event-hubs-service.js';
import { EventHubsWork } from './event-hubs-work.js';

export interface EventHubsEmulatorOptions extends EventHubsOptions {
  /** Where events are stored durably. Without it they are in memory. */
  readonly directory?: string;
  /** Receives one sentence about what the journal found or cannot do. */
  readonly warn?: (sentence: string) => void;
}

/** The Event Hubs service, to be registered with an `AmqpServer`. */
export interface EventHubsEmulator {
  readonly service: AmqpService;
  /** For clients that wait for work without a reader. */
  readonly work: { readonly source: WorkSource; readonly notes: WorkNotes };
  readonly console: EntityConsole;
  /** Makes the hubs that do not exist yet. */
  declare(hubs: readonly EventHubSpec[]): void;
  /** Resolves when everything accepted is durable. Stop the server first. */
  close(): Promise<void>;
}

/** Opens the event hubs of a namespace, with what a data directory holds of them. */
export async function openEventHubs(options: EventHubsEmulatorOptions = {}): Promise<EventHubsEmulator> {
  const { directory, warn } = options;
  const journal = directory === undefined ? undefined : await EventHubsJournal.open(directory, warn);
  const notes = new WorkNotes();
  const hubs = new EventHubs({ ...options, onEvents: (hub) => notes.note(hub) }, journal);
  return {
    service: new EventHubsService(hubs),
    work: { source: new EventHubsWork(hubs), notes },
    console: new EventHubsConsole(hubs),
    declare: (specs) => hubs.declare(specs),
    close: () => journal?.close() ?? Promise.resolve(),
  };
}
