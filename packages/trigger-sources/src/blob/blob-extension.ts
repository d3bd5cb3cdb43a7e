import { BoundedMap } from '@drover/service-kit';
import type {
  BindingExtension,
  BindingExtensionFactory,
  BindingRequest,
  ExtensionParts,
  InputValue,
  PreparedTrigger,
  Webhook,
  WebhookAnswer,
  WebhookRequest,
} from '../binding-extension.js';
import { answerHandshake, refuseEvents } from '../event-grid/handshake.js';
import { readEvents } from '../event-grid/read-events.js';
import { AzureQueueAccount } from '../queue/azure-storage-queue.js';
import type { QueueObservation } from '../queue/observations.js';
import type { ParkedSource } from '../parked-trigger.js';
import {
  hasStorageConnection,
  hostStorageSetting,
  storageConnection,
  type StorageConnection,
} from '../storage/storage-connection.js';
import type { Deliver, OutputTarget } from '../trigger-source.js';
import { AzureBlobAccount } from './azure-blob-account.js';
import { readBlobInput } from './blob-input.js';
import { BlobListener } from './blob-listener.js';
import {
  blobBindingOptions,
  blobTriggerOptions,
  type BlobHostOptions,
  type BlobTriggerOptions,
} from './blob-options.js';
import { createdBlob } from './blob-events.js';
import { toBlobModel } from './blob-model.js';
import type { BlobPattern } from './blob-path.js';
import { BlobOutput } from './blob-output.js';
import { ContentBudget } from './content-budget.js';
import type { BlobObservation } from './observations.js';
import { parkedBlobs } from './parked-blobs.js';

interface BlobHost {
  readonly blobs: BlobHostOptions;
}
type BlobParts = ExtensionParts<BlobHost, BlobObservation | QueueObservation>;

/** The blobs of one application: one client per account. */
class BlobExtension implements BindingExtension {
  readonly #parts: BlobParts;
  readonly #budget = new ContentBudget();
  /** Bounded, since the connection of an output can be built from messages. */
  readonly #accounts = new BoundedMap<string, AzureBlobAccount>({ maxWeight: 100, whenFull: 'reject' });

  /** The triggers that take events, by the name of their function in lower case. */
  readonly #pushed = new Map<string, { readonly pattern: BlobPattern; readonly address: string }>();

  constructor(parts: BlobParts) {
    this.#parts = parts;
  }

  readonly webhook: Webhook = {
    has: (functionName) => this.#pushed.has(functionName.toLowerCase()),
    serve: (functionName, request) => Promise.resolve(this.#serve(functionName, request)),
  };

  prepare(trigger: BindingRequest): PreparedTrigger {
    const { functionName } = trigger;
    const { host, cores } = this.#parts;
    const options = blobTriggerOptions({ functionName, host: host.blobs, binding: trigger.options, cores });
    return {
      unknownKeys: options.unknownKeys,
      retryBackOffMs: options.retryBackOffMs,
      listen: (deliver) => this.#listen(trigger, options, deliver),
      park: () => this.#park(trigger, options),
    };
  }

  async read(input: BindingRequest, signal: AbortSignal): Promise<InputValue> {
    const { functionName } = input;
    const { clock, randomness } = this.#parts;
    const account = this.#account(input);
    const options = blobBindingOptions({ functionName, binding: input.options }, 'input', account.endpoint);
    const { container, name } = options.path;
    if (options.isSdkBinding) return { modelBindingData: toBlobModel(connectionOf(input), container, name) };
    return await readBlobInput({ account, options, budget: this.#budget, clock, randomness, signal });
  }

  target(output: BindingRequest): OutputTarget {
    const { functionName } = output;
    const { clock, randomness, observe, wakeups } = this.#parts;
    const account = this.#account(output);
    const options = blobBindingOptions({ functionName, binding: output.options }, 'output', account.endpoint);
    return new BlobOutput({ functionName, account, options, wakeups, clock, randomness, observe });
  }

  #listen(trigger: BindingRequest, options: BlobTriggerOptions, deliver: Deliver): BlobListener {
    const { functionName } = trigger;
    const { settings } = this.#parts;
    const connection = connectionOf(trigger);
    const hostQueues = new AzureQueueAccount(this.#hostQueues(trigger));
    const hasOwn = connection !== undefined && hasStorageConnection(settings, connection, 'queue');
    const ownQueues = hasOwn
      ? new AzureQueueAccount(storageConnection({ service: 'queue', functionName, connection, settings }))
      : hostQueues;
    const account = this.#account(trigger);
    const budget = this.#budget;
    const { pattern, takesEvents } = options;
    if (takesEvents)
      this.#pushed.set(functionName.toLowerCase(), { pattern, address: account.container(pattern.container).address });
    return new BlobListener({
      ...this.#parts,
      functionName,
      account,
      hostQueues,
      ownQueues,
      options,
      deliver,
      budget,
      connection,
    });
  }

  /** Scans the container at once for a blob that was written. The scan is what counts: an event may be late, repeated or forged. */
  #serve(functionName: string, request: WebhookRequest): WebhookAnswer {
    const { wakeups, observe } = this.#parts;
    const trigger = this.#pushed.get(functionName.toLowerCase());
    if (!trigger) return { status: 404 };
    const handshake = answerHandshake(request);
    if (handshake) return handshake;
    const read = readEvents(request);
    switch (read.kind) {
      case 'validation':
        observe({ kind: 'blob.subscribed', functionName });
        return { status: 200, body: { validationResponse: read.code } };
      case 'unsubscribed':
        return { status: 202 };
      case 'invalid':
        return refuseEvents(read.problem);
      case 'events': {
        const isOurs = ({ container, name }: { readonly container: string; readonly name: string }): boolean =>
          container === trigger.pattern.container && trigger.pattern.match(name) !== undefined;
        const written = read.events.flatMap((event) => createdBlob(event) ?? []).filter(isOurs);
        if (written.length > 0) wakeups.wake(trigger.address);
        return { status: 202 };
      }
    }
  }

  #park(trigger: BindingRequest, options: BlobTriggerOptions): ParkedSource {
    const { application, store, clock } = this.#parts;
    const { functionName } = trigger;
    const [connection, queueConnection] = [this.#connection(trigger), this.#hostQueues(trigger)];
    const { pattern, scanIntervalMs } = options;
    return parkedBlobs({
      application,
      functionName,
      connection,
      queueConnection,
      pattern,
      scanIntervalMs,
      store,
      clock,
    });
  }

  #account(binding: BindingRequest): AzureBlobAccount {
    const name = connectionOf(binding) ?? '';
    const known = this.#accounts.get(name);
    if (known) return known;
    const account = new AzureBlobAccount(this.#connection(binding));
    this.#accounts.set(name, account);
    return account;
  }

  #connection(binding: BindingRequest): StorageConnection {
    const { functionName } = binding;
    const { settings } = this.#parts;
    return storageConnection({ service: 'blob', functionName, connection: connectionOf(binding), settings });
  }

  /**
   * As in Azure, found blobs are queued in the storage account of the runtime, and poison is reported in that of the blobs. An app that
   * has a queue service in one of them only uses that for both.
   */
  #hostQueues(trigger: BindingRequest): StorageConnection {
    const { functionName } = trigger;
    const { settings } = this.#parts;
    const connection = hasStorageConnection(settings, hostStorageSetting) ? undefined : connectionOf(trigger);
    return storageConnection({ service: 'queue', functionName, connection, settings });
  }
}

function connectionOf({ options: { connection } }: BindingRequest): string | undefined {
  return typeof connection === 'string' ? connection : undefined;
}

export const blobExtension: BindingExtensionFactory<BlobHost, BlobObservation | QueueObservation> = {
  types: { triggers: ['blobTrigger'], inputs: ['blob'], outputs: ['blob'], wholeOutputs: ['blob'] },
  webhookName: 'blobs',
  isPushed: ({ source }) => typeof source === 'string' && source.trim().toLowerCase() === 'eventgrid',
  create: (parts) => new BlobExtension(parts),
};
