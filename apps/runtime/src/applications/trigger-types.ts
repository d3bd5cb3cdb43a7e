/** Triggers that Azure Functions has, as its own documents write their types. */
const azureTriggerTypes = [
  'activityTrigger',
  'blobTrigger',
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

const spellings = new Map<string, string>(azureTriggerTypes.map((type) => [type.toLowerCase(), type]));

/** A trigger's type as it is shown. Apps and workers write it in any case; one that nobody knows stays as it was written. */
export function shownTriggerType(type: string): string {
  return spellings.get(type.toLowerCase()) ?? type;
}
