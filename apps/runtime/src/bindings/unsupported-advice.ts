const pollsInstead = 'Poll the database in a function with a timerTrigger, or run this function on Azure';
const durable =
  'Durable Functions need an orchestration engine, which this runtime does not have yet: run this function on Azure';

/** What the author of an app can do about a binding type that this runtime has no extension for, in lower case. */
const adviceByType: Readonly<Record<string, string>> = {
  cosmosdbtrigger:
    'Read the change feed with @azure/cosmos in a function with a timerTrigger, or run this function on Azure',
  cosmosdb: 'Use @azure/cosmos in the function',
  sqltrigger: pollsInstead,
  sql: 'Use a client of the database in the function',
  mysqltrigger: pollsInstead,
  mysql: 'Use a client of the database in the function',
  kafkatrigger:
    'Send the events to an event hub and use an eventHubTrigger, or call an httpTrigger from a Kafka consumer',
  kafka: 'Use a Kafka client in the function',
  rabbitmqtrigger: 'Move the messages to a Service Bus queue and use a serviceBusTrigger',
  rabbitmq: 'Use a RabbitMQ client in the function',
  signalrtrigger: 'Set an httpTrigger of this application as upstream endpoint of the SignalR service',
  signalr: 'Use the REST API of the SignalR service in the function',
  signalrconnectioninfo: 'Create the access token of the client in the function',
  webpubsubtrigger: 'Set an httpTrigger of this application as event handler of the Web PubSub service',
  webpubsub: 'Use @azure/web-pubsub in the function',
  webpubsubconnection: 'Use @azure/web-pubsub in the function',
  sendgrid: 'Use @sendgrid/mail in the function',
  twiliosms: 'Use the twilio package in the function',
  orchestrationtrigger: durable,
  activitytrigger: durable,
  entitytrigger: durable,
  durableclient: durable,
  orchestrationclient: durable,
};

const anyAdvice = 'Remove the binding, or use a client of the service in the function';

/** Returns what to do about an unsupported binding type, as a sentence without its period. */
export function adviceFor(type: string): string {
  return adviceByType[type.toLowerCase()] ?? anyAdvice;
}
