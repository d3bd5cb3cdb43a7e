import { serveRequests } from '../../harness/program.js';

export interface PeerAnswer {
  /** Undefined when the package is not installed. */
  readonly serviceBus: string | undefined;
}

interface AmqpEmulatorModule {
  readonly AmqpServer: new () => { listen(): Promise<{ port: number }> };
}

/** The peer on npm that speaks to the Service Bus SDK: queues and topics in memory, no sessions, rules or Event Hubs. */
serveRequests<object>(async (): Promise<PeerAnswer> => {
  // By a variable: the package has no place in the build, which works without it.
  const name = 'amqp-emulator';
  let peer: AmqpEmulatorModule;
  try {
    peer = (await import(name)) as AmqpEmulatorModule;
  } catch {
    return { serviceBus: undefined };
  }
  const { port } = await new peer.AmqpServer().listen();
  const serviceBus = `Endpoint=sb://127.0.0.1:${port};SharedAccessKeyName=any;SharedAccessKey=any;UseDevelopmentEmulator=true;`;
  return { serviceBus };
});
