export { readAmqpMap } from './amqp-map.js';
export type {
  BindingExtension,
  BindingExtensionFactory,
  BindingRequest,
  BindingTypes,
  ExtensionParts,
  InputValue,
  PreparedTrigger,
  Webhook,
  WebhookAnswer,
} from './binding-extension.js';
export { blobExtension } from './blob/blob-extension.js';
export { blobListenerStates } from './blob/blob-listener.js';
export { blobHostOptionNames, readBlobHostOptions } from './blob/blob-options.js';
export type { BlobHostOptions } from './blob/blob-options.js';
export { collectionExtension } from './collection/collection-extension.js';
export { collectionListenerStates } from './collection/collection-listener.js';
export type {
  ChangeFailure,
  CollectionRecords,
  RecordChange,
  RecordChangeBatch,
  RecordWrite,
  TriggerOfCollection,
} from './collection-records.js';
export { triggerSourceErrors } from './errors.js';
export { eventHubExtension } from './event-hubs/event-hub-extension.js';
export { eventHubListenerStates } from './event-hubs/event-hub-listener.js';
export { eventHubHostOptionNames, readEventHubHostOptions } from './event-hubs/event-hub-options.js';
export type { EventHubHostOptions } from './event-hubs/event-hub-options.js';
export { partitionPumpStates } from './event-hubs/partition-pump.js';
export { eventGridExtension } from './event-grid/event-grid-extension.js';
export { eventGridListenerStates } from './event-grid/event-grid-listener.js';
export { triggerSourceReaders } from './observations.js';
export type { TriggerSourceObservation } from './observations.js';
export { AzureQueueAccount } from './queue/azure-storage-queue.js';
export { queueMessageStates } from './queue/message-run.js';
export type { QueueObservation } from './queue/observations.js';
export { queueExtension } from './queue/queue-extension.js';
export { QueueListener, queueListenerStates } from './queue/queue-listener.js';
export {
  queueHostOptionNames,
  queueOptions,
  queueOutputOptions,
  readQueueHostOptions,
} from './queue/queue-options.js';
export type { QueueHostOptions, QueueOptions } from './queue/queue-options.js';
export { QueueOutput } from './queue/queue-output.js';
export { SourceWakeups } from './source-wakeups.js';
export { LockedMessages } from './locked-messages.js';
export type {
  DeadLetterDetails,
  LockedMessage,
  LockedSession,
  MessageProperties,
} from './locked-messages.js';
export type { ServiceBusObservation } from './service-bus/observations.js';
export { serviceBusMessageStates } from './service-bus/bus-message-lock.js';
export { serviceBusExtension } from './service-bus/service-bus-extension.js';
export { serviceBusListenerStates } from './service-bus/service-bus-listener.js';
export { readServiceBusHostOptions, serviceBusHostOptionNames } from './service-bus/service-bus-options.js';
export type { ServiceBusHostOptions } from './service-bus/service-bus-options.js';
export { parseTimeSpan, timeSpanRule } from './options/time-span.js';
export { storageConnection } from './storage/storage-connection.js';
export type { StorageConnection } from './storage/storage-connection.js';
export { TriggerStores } from './store/trigger-stores.js';
export type { StoredState, TriggerStore } from './store/trigger-store.js';
export { tableExtension } from './table/table-extension.js';
export { timerExtension } from './timer/timer-extension.js';
export { timerListenerStates } from './timer/timer-listener.js';
export type { MessageHandle, QueueAccount, QueueMessage, StorageQueue } from './queue/storage-queue.js';
export type {
  Backlog,
  Deliver,
  Delivery,
  OutputMessage,
  OutputTarget,
  Settlement,
  TriggerListener,
} from './trigger-source.js';
export type { ParkedTrigger } from './parked-trigger.js';
export { BacklogMeasurements } from './watch/backlog-measurements.js';
export { NotificationEndpoints } from './watch/notification-endpoints.js';
export { WarmNamespaces } from './amqp/warm-namespaces.js';
export { TriggerWatch } from './watch/trigger-watch.js';
export type { NoticedWork, WatchedApplication } from './watch/trigger-watch.js';
export { watchedSourceStates } from './watch/watched-source.js';
