import type { QueueClient, QueueServiceClient } from '@azure/storage-queue';
import { sdkCall } from '../storage/sdk-call.js';
import { sdkClient } from '../storage/sdk-client.js';
import type { StorageConnection } from '../storage/storage-connection.js';
import { StorageRest } from '../storage/storage-rest.js';
import { RestStorageQueue } from './rest-storage-queue.js';
import { wholeSeconds, type MessageHandle, type QueueAccount, type StorageQueue } from './storage-queue.js';

type Settings = Readonly<Record<string, string | undefined>>;

/** Settings that send requests through a proxy, which the SDK reads from the environment. */
const proxySetting = /^(https?|all)_proxy$/i;

/** Returns the settings that name a proxy, which are all that an account needs of them. */
export function proxySettingsOf(settings: Settings): Settings {
  return Object.fromEntries(Object.entries(settings).filter(([name, value]) => value && proxySetting.test(name)));
}

/**
 * The queues of an account: by bare requests with a key or a shared access signature, else through the Azure SDK. The SDK is loaded at
 * the first call: it costs 25 MB and a third of a second.
 */
export class AzureQueueAccount implements QueueAccount {
  readonly setting: string;
  readonly #connection: StorageConnection;
  readonly #rest: StorageRest | undefined;
  #service: Promise<QueueServiceClient> | undefined;

  constructor(connection: StorageConnection, settings: Settings = {}) {
    this.setting = connection.setting;
    this.#connection = connection;
    const needsSdk =
      (connection.kind === 'uri' && connection.credential !== undefined) ||
      Object.keys(proxySettingsOf(settings)).length > 0;
    this.#rest = needsSdk ? undefined : new StorageRest(connection);
  }

  queue(name: string): StorageQueue {
    const address = `${this.#connection.endpoint}/${name}`;
    if (this.#rest) return new RestStorageQueue(name, address, this.#rest);
    let client: Promise<QueueClient> | undefined;
    return new AzureStorageQueue(name, address, () => {
      client ??= this.#open().then((service) => service.getQueueClient(name));
      return client;
    });
  }

  #open(): Promise<QueueServiceClient> {
    this.#service ??= import('@azure/storage-queue').then((sdk) =>
      sdkClient(sdk, this.#connection, (url, pipeline) => new sdk.QueueServiceClient(url, pipeline)),
    );
    return this.#service;
  }
}

class AzureStorageQueue implements StorageQueue {
  readonly name: string;
  readonly address: string;
  readonly #client: () => Promise<QueueClient>;

  constructor(name: string, address: string, client: () => Promise<QueueClient>) {
    this.name = name;
    this.address = address;
    this.#client = client;
  }

  receive: StorageQueue['receive'] = ({ count, leaseMs }, signal) =>
    this.#call(signal, async (client) => {
      const visibilityTimeout = wholeSeconds(leaseMs);
      const answer = await client.receiveMessages({ numberOfMessages: count, visibilityTimeout, abortSignal: signal });
      return answer.receivedMessageItems.map(({ messageId, messageText, ...rest }) => ({
        ...rest,
        id: messageId,
        text: messageText,
      }));
    });

  hide: StorageQueue['hide'] = ({ id, popReceipt }, forMs, signal) =>
    this.#call(signal, async (client): Promise<MessageHandle> => {
      // Without a text the service keeps the text of the message.
      const answer = await client.updateMessage(id, popReceipt, undefined, wholeSeconds(forMs), {
        abortSignal: signal,
      });
      return { id, popReceipt: answer.popReceipt ?? popReceipt };
    });

  remove: StorageQueue['remove'] = ({ id, popReceipt }, signal) =>
    this.#call(signal, async (client) => {
      await client.deleteMessage(id, popReceipt, { abortSignal: signal });
    });

  send: StorageQueue['send'] = (text, { keep }, signal) =>
    this.#call(signal, async (client) => {
      await client.sendMessage(text, { abortSignal: signal, ...(keep === 'for-ever' && { messageTimeToLive: -1 }) });
    });

  create: StorageQueue['create'] = (signal) =>
    this.#call(signal, async (client) => {
      await client.createIfNotExists({ abortSignal: signal });
    });

  peek: StorageQueue['peek'] = (signal) =>
    this.#call(signal, async (client) => {
      const { peekedMessageItems } = await client.peekMessages({ numberOfMessages: 1, abortSignal: signal });
      return peekedMessageItems[0];
    });

  count: StorageQueue['count'] = (signal) =>
    this.#call(signal, async (client) => {
      const { approximateMessagesCount } = await client.getProperties({ abortSignal: signal });
      return approximateMessagesCount ?? 0;
    });

  async #call<T>(signal: AbortSignal, act: (client: QueueClient) => Promise<T>): Promise<T> {
    const client = await this.#client();
    return await sdkCall(signal, () => act(client));
  }
}
