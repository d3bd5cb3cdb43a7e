import { Authorizer, developmentAccount, type StorageAccounts } from './authorize.js';
import { WorkNotes } from '../notifications/work-notes.js';
import { WorkNotifications } from '../notifications/work-notifications.js';
import { QueueConsole } from './queue-console.js';
import { checkQueueName } from './queue-request.js';
import { QueueServer } from './queue-server.js';
import { QueueWork } from './queue-work.js';
import { StorageQueueStore } from './storage-queue-store.js';

export interface QueueServiceOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number;
  readonly host?: string;
  /** Keeps all queues in this directory, each change with fdatasync. In memory only without it. */
  readonly dataDirectory?: string;
  /** Bound of all messages in memory; requests beyond it are refused with status 507. */
  readonly maxBytes?: number;
  /** Queues of the development account to create at the start. Clients create others. */
  readonly queues?: readonly string[];
  readonly accounts?: StorageAccounts;
  /** Receives one sentence about the data directory that an operator should read. */
  readonly warn?: (sentence: string) => void;
  readonly now?: () => number;
}

const defaultMaxBytes = 512 * 1024 * 1024;

/** A Storage queue service: the REST API on a port, and the console of a developer. */
export class QueueService {
  /** The queues of the development account. */
  readonly console: QueueConsole;
  readonly #store: StorageQueueStore;
  readonly #server: QueueServer;
  #port = 0;

  private constructor(store: StorageQueueStore, server: QueueServer) {
    this.console = new QueueConsole(store, developmentAccount.name);
    this.#store = store;
    this.#server = server;
  }

  /** Resolves when the port answers. Rejects if the port is taken or the data directory cannot be used. */
  static async start(options: QueueServiceOptions = {}): Promise<QueueService> {
    const { now = Date.now, maxBytes = defaultMaxBytes, warn = () => undefined } = options;
    const accounts = options.accounts ?? { [developmentAccount.name]: [developmentAccount.key] };
    const notes = new WorkNotes();
    const store = new StorageQueueStore({ maxBytes, now, onChanged: (queue) => notes.note(queue) });
    const notifications = new WorkNotifications({ sources: [{ source: new QueueWork(store), notes }], now });
    const server = new QueueServer({ store, authorizer: new Authorizer(accounts, now), notifications, now });
    const service = new QueueService(store, server);
    try {
      if (options.dataDirectory !== undefined) await store.openJournal(options.dataDirectory, warn);
      await service.create(options.queues ?? []);
      service.#port = await server.listen(options.port ?? 0, options.host ?? '127.0.0.1');
      return service;
    } catch (error) {
      await service.stop();
      throw error;
    }
  }

  /** Creates the queues of the development account that do not exist. */
  async create(names: readonly string[]): Promise<void> {
    for (const name of names) {
      checkQueueName(name);
      if (!this.#store.findQueue(developmentAccount.name, name))
        await this.#store.create(developmentAccount.name, name, {}).durable;
    }
  }

  get port(): number {
    return this.#port;
  }

  /** Bytes of all messages, against `maxBytes`. */
  get bytes(): number {
    return this.#store.bytes;
  }

  async stop(): Promise<void> {
    await this.#server.close();
    await this.#store.close();
  }
}
