import { ownCpuMs } from '../../harness/process-facts.js';
import { serveRequests } from '../../harness/program.js';

export interface PeerAnswer {
  /** Undefined when the package is not installed. */
  readonly serviceBus: string | undefined;
  /** CPU time of the process so far. */
  readonly cpuMs: number;
}

interface AmqpEmulatorModule {
  readonly AmqpServer: new () => { listen(): Promise<{ port: number }> };
}

const started = start();

/** The peer on npm that speaks to the Service Bus SDK: queues and topics in memory, no sessions, rules or Event Hubs. */
async function start(): Promise<string | undefined> {
  // By a variable: the package has no place in the build, which works without it.
  const name = 'amqp-emulator';
  let peer: AmqpEmulatorModule;
  try {
    peer = (await import(name)) as AmqpEmulatorModule;
  } catch {
    return undefined;
  }
  const { port } = await new peer.AmqpServer().listen();
  return `Endpoint=sb://127.0.0.1:${port};SharedAccessKeyName=any;SharedAccessKey=any;UseDevelopmentEmulator=true;`;
}

serveRequests<object>(async (): Promise<PeerAnswer> => ({ serviceBus: await started, cpuMs: ownCpuMs() }));
