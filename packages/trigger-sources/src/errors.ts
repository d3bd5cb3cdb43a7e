import { defineError } from '@drover/contracts';

const list = (problems: readonly string[]): string => problems.map((problem) => `\n  - ${problem}`).join('');

export const triggerOptionsInvalid = defineError<{ functionName: string; problems: readonly string[] }>(
  'TRIGGER_OPTIONS_INVALID',
  {
    fault: 'customer',
    retryable: false,
    status: 400,
    message: (d) => `Function ${d.functionName} has invalid trigger options. Correct these:${list(d.problems)}`,
    help: 'Options of a binding are invalid. Correct the listed keys on the binding, or under `extensions` of host.json.',
  },
);

export const triggerConnectionInvalid = defineError<{ functionName: string; setting: string; problem: string }>(
  'TRIGGER_CONNECTION_INVALID',
  {
    fault: 'customer',
    retryable: false,
    status: 400,
    message: (d) => `Function ${d.functionName}: the connection setting ${d.setting} ${d.problem}.`,
    help: 'The `connection` of a binding names a setting. Set it to a connection string, or `<name>__blobServiceUri`, `<name>__queueServiceUri` or `<name>__tableServiceUri` to a URI.',
  },
);

export const triggerCredentialsMissing = defineError<{ functionName: string; setting: string }>(
  'TRIGGER_CREDENTIALS_MISSING',
  {
    fault: 'customer',
    retryable: false,
    status: 400,
    message: (d) =>
      `Function ${d.functionName}: ${d.setting} names an account without a key, and this runtime has no Azure identity. ` +
      'Append a shared access signature to the URI, or use a connection string.',
    help: 'Identity-based connections need a credential: use a connection string, or a URI with a shared access signature.',
  },
);

export const triggerStoreUnavailable = defineError<{ store: string; operation: string; reason: string }>(
  'TRIGGER_STORE_UNAVAILABLE',
  {
    fault: 'platform',
    retryable: true,
    status: 503,
    message: (d) => `The state of triggers in ${d.store} is unavailable (${d.operation}): ${d.reason}`,
    help: 'Schedules, checkpoints and receipts of triggers are in PostgreSQL, or in blobs of AzureWebJobsStorage. Check that it is reachable; triggers continue by themselves.',
  },
);

export const collectionsUnavailable = defineError<{ functionName: string }>('COLLECTIONS_UNAVAILABLE', {
  fault: 'customer',
  retryable: false,
  status: 400,
  message: (d) =>
    `Function ${d.functionName} uses a collection, but this runtime has no database of collections. Set DATABASE_URL of the runtime.`,
  help: 'Triggers and bindings of collections need the database of the platform. `drover up` provides it; a runtime that runs alone gets it with `DATABASE_URL`.',
});

export const eventGridEventUnsendable = defineError<{ topic: string; problem: string }>('EVENT_GRID_EVENT_UNSENDABLE', {
  fault: 'customer',
  retryable: false,
  status: 400,
  message: (d) => `An event for the topic ${d.topic} ${d.problem}.`,
  help: 'An event of Event Grid is a JSON object with subject and eventType, or a CloudEvent, of up to 1 MB. Correct what the function returns for the output.',
});

export const eventGridUnavailable = defineError<{ topic: string; reason: string }>('EVENT_GRID_UNAVAILABLE', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `The Event Grid topic ${d.topic} is unavailable: ${d.reason}`,
  help: 'The topic does not respond or refuses the request. Check its URL and its key in the settings that the output names.',
});

export const eventHubEventUnsendable = defineError<{ hub: string; problem: string }>('EVENT_HUB_EVENT_UNSENDABLE', {
  fault: 'customer',
  retryable: false,
  status: 400,
  message: (d) => `An event for hub ${d.hub} ${d.problem}.`,
  help: 'An event holds up to 1 MiB (256 KiB in the Basic tier) with its properties. Store large content elsewhere and send its address.',
});

export const eventHubUnavailable = defineError<{ hub: string; operation: string; reason: string }>(
  'EVENT_HUB_UNAVAILABLE',
  {
    fault: 'platform',
    retryable: true,
    status: 503,
    message: (d) => `Event hub ${d.hub} is unavailable (${d.operation}): ${d.reason}`,
    help: 'The Event Hubs namespace does not respond or refuses the request. Check that it is reachable, that the hub exists and that the key is valid.',
  },
);

export const triggerBacklogUnknown = defineError<{ functionName: string; reason: string }>('TRIGGER_BACKLOG_UNKNOWN', {
  fault: 'platform',
  retryable: false,
  status: 501,
  message: (d) => `The backlog of function ${d.functionName} cannot be known: ${d.reason}.`,
  help: 'The source of a trigger does not report how many events wait. Scale the application by other triggers, or by hand.',
});

export const queueMessageUnsendable = defineError<{ queue: string; problem: string }>('QUEUE_MESSAGE_UNSENDABLE', {
  fault: 'customer',
  retryable: false,
  status: 400,
  message: (d) => `A message for queue ${d.queue} ${d.problem}.`,
  help: 'A message of a storage queue holds up to 64 KiB of text (48 KiB before base64). Store large content elsewhere and send its address.',
});

export const queueUnavailable = defineError<{ queue: string; operation: string; reason: string }>('QUEUE_UNAVAILABLE', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `Queue ${d.queue} is unavailable (${d.operation}): ${d.reason}`,
  help: 'The storage account does not respond or refuses the request. Check that it is reachable and that the key is valid.',
});

export const serviceBusLockUnknown = defineError<{ what: 'message' | 'session'; id: string }>(
  'SERVICE_BUS_LOCK_UNKNOWN',
  {
    fault: 'customer',
    retryable: false,
    status: 410,
    message: (d) =>
      `No ${d.what} ${d.id} is locked here: it is settled or released already, or its lock is lost. Settle a message once, while its function runs.`,
    help: 'A function settled a message that it does not hold any more. Settle each message once, with the lock token of its trigger metadata, before the function ends.',
  },
);

export const serviceBusMessageUnsendable = defineError<{ entity: string; problem: string }>(
  'SERVICE_BUS_MESSAGE_UNSENDABLE',
  {
    fault: 'customer',
    retryable: false,
    status: 400,
    message: (d) => `A message for ${d.entity} ${d.problem}.`,
    help: 'The properties of the message are invalid, or it is larger than the entity accepts. Correct the value that the function returns for the output.',
  },
);

export const serviceBusUnavailable = defineError<{ entity: string; operation: string; reason: string }>(
  'SERVICE_BUS_UNAVAILABLE',
  {
    fault: 'platform',
    retryable: true,
    status: 503,
    message: (d) => `Service Bus entity ${d.entity} is unavailable (${d.operation}): ${d.reason}`,
    help: 'The namespace does not respond or refuses the request. Check that it is reachable, that the entity exists and that the key is valid.',
  },
);

export const blobUnavailable = defineError<{ blob: string; operation: string; reason: string }>('BLOB_UNAVAILABLE', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `Blob ${d.blob} is unavailable (${d.operation}): ${d.reason}`,
  help: 'The storage account does not respond or refuses the request. Check that it is reachable and that the key is valid.',
});

export const blobTooLarge = defineError<{ blob: string; bytes: number; limit: number }>('BLOB_TOO_LARGE', {
  fault: 'customer',
  retryable: false,
  status: 500,
  message: (d) =>
    `Blob ${d.blob} has ${d.bytes} bytes, and a function worker takes ${d.limit} at most. ` +
    'Read it in the function, with the SDK of the storage account.',
  help: 'The content of a blob is sent to a function worker in one message. Read large blobs in the function, as a stream of the SDK.',
});

export const tableEntityInvalid = defineError<{ table: string; problem: string }>('TABLE_ENTITY_INVALID', {
  fault: 'customer',
  retryable: false,
  status: 500,
  message: (d) => `An entity for table ${d.table} ${d.problem}.`,
  help: 'An entity is a JSON object with the strings PartitionKey and RowKey; its other properties are texts, numbers or booleans. Correct the function.',
});

export const tableEntityConflict = defineError<{ table: string; problem: string }>('TABLE_ENTITY_CONFLICT', {
  fault: 'customer',
  retryable: false,
  status: 500,
  message: (d) => `Table ${d.table}: ${d.problem}.`,
  help: 'An output adds entities. To replace an entity, set its property ETag to "*"; with the ETag that was read, it is replaced if it did not change meanwhile.',
});

export const tableUnavailable = defineError<{ table: string; operation: string; reason: string }>('TABLE_UNAVAILABLE', {
  fault: 'platform',
  retryable: true,
  status: 503,
  message: (d) => `Table ${d.table} is unavailable (${d.operation}): ${d.reason}`,
  help: 'The storage account does not respond or refuses the request. Check that it is reachable and that the key is valid.',
});

/** For the catalogue of errors. */
export const triggerSourceErrors = {
  triggerOptionsInvalid,
  triggerConnectionInvalid,
  triggerCredentialsMissing,
  triggerStoreUnavailable,
  collectionsUnavailable,
  eventHubEventUnsendable,
  eventHubUnavailable,
  triggerBacklogUnknown,
  eventGridEventUnsendable,
  eventGridUnavailable,
  queueMessageUnsendable,
  queueUnavailable,
  serviceBusLockUnknown,
  serviceBusMessageUnsendable,
  serviceBusUnavailable,
  blobUnavailable,
  blobTooLarge,
  tableEntityInvalid,
  tableEntityConflict,
  tableUnavailable,
};
