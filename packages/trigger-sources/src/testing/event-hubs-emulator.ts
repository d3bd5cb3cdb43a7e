import { Child } from '@drover/testkit';

export interface EventHubsEmulator {
  /** Value for a connection setting of an application. */
  readonly connectionString: string;
  readonly port: number;
  readonly child: Child;
  stop(): Promise<void>;
}

/**
 * Starts an Event Hubs emulator in its own process, to be killed by a test, on a free port or the given one. With a directory it
 * is durable. It ends when this process ends, also by a signal.
 */
export async function startEventHubsEmulator(dataDirectory?: string, port = 0): Promise<EventHubsEmulator> {
  const options = { ports: { amqp: port }, ...(dataDirectory !== undefined && { dataDirectory }) };
  const program = `
    process.once('disconnect', () => process.exit());
    const { startEmulators } = await import(${JSON.stringify(import.meta.resolve('@drover/azure-emulators'))});
    const { connectionStrings, ports } = await startEmulators(${JSON.stringify(options)});
    console.log('port ' + ports.amqp);
    console.log(connectionStrings.eventHubs);`;
  const child = new Child(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  try {
    const connectionString = await child.line(/^Endpoint=/);
    const used = Number((await child.line(/^port \d+$/)).slice(5));
    return { connectionString, port: used, child, stop: () => child.end() };
  } catch (error) {
    await child.end();
    throw error;
  }
}
