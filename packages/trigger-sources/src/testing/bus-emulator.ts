import { Child } from '@drover/testkit';
import type { Entities } from '@drover/azure-emulators';

export interface BusEmulator {
  /** Value for a connection setting of an application. */
  readonly connectionString: string;
  readonly port: number;
  readonly child: Child;
  stop(): Promise<void>;
}

interface BusEmulatorOptions {
  readonly entities?: Partial<Pick<Entities, 'queues' | 'topics'>>;
  /** Where messages survive a restart. */
  readonly directory?: string;
  /** A free one by default. */
  readonly port?: number;
  /** The key that is accepted; any by default. */
  readonly key?: string;
}

const keyName = 'Root';

/** Connection string of an emulator at another address, such as a proxy, or with another key. */
export function busConnectionString(port: number, key = 'any'): string {
  return `Endpoint=sb://127.0.0.1:${port};SharedAccessKeyName=${keyName};SharedAccessKey=${key};UseDevelopmentEmulator=true;`;
}

/**
 * Starts a Service Bus emulator in its own process, from the build of its package: nothing else of the emulators is loaded.
 * It ends when this process ends, also by a signal.
 */
export async function startBusEmulator(options: BusEmulatorOptions = {}): Promise<BusEmulator> {
  const { entities, port = 0, key, directory } = options;
  const bus = { entities: { queues: [], topics: [], ...entities }, ...(directory !== undefined && { directory }) };
  const emulators = import.meta.resolve('@drover/azure-emulators');
  const load = (file: string): string => `await import(${JSON.stringify(new URL(file, emulators).href)})`;
  const program = `
    process.once('disconnect', () => process.exit());
    const { AmqpServer } = ${load('./amqp/amqp-server.js')};
    const { startServiceBus } = ${load('./service-bus/service-bus.js')};
    const bus = await startServiceBus(${JSON.stringify(bus)});
    const keys = ${key === undefined ? 'undefined' : `new Map([[${JSON.stringify(keyName)}, ${JSON.stringify(key)}]])`};
    const server = new AmqpServer({ services: [bus.service], http: bus.admin, port: ${port}, ...(keys && { keys }) });
    console.log('port ' + (await server.start()));`;
  const child = new Child(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  try {
    const used = Number((await child.line(/^port \d+$/)).slice(5));
    return { connectionString: busConnectionString(used, key), port: used, child, stop: () => child.end() };
  } catch (error) {
    await child.end();
    throw error;
  }
}
