/** The trigger types of Azure Functions, and that of Drover, in their documented spelling. */
const triggerTypes = [
  'activityTrigger',
  'blobTrigger',
  'collectionTrigger',
  'cosmosDBTrigger',
  'entityTrigger',
  'eventGridTrigger',
  'eventHubTrigger',
  'httpTrigger',
  'kafkaTrigger',
  'mysqlTrigger',
  'orchestrationTrigger',
  'queueTrigger',
  'rabbitMQTrigger',
  'serviceBusTrigger',
  'signalRTrigger',
  'sqlTrigger',
  'timerTrigger',
  'warmupTrigger',
  'webPubSubTrigger',
] as const;

const spellings = new Map<string, string>(triggerTypes.map((type) => [type.toLowerCase(), type]));

/** Returns the documented spelling of a trigger type, which apps write in any case. Unknown types stay as they are. */
export function shownTriggerType(type: string): string {
  return spellings.get(type.toLowerCase()) ?? type;
}
