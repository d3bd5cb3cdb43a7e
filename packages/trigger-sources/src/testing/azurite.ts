import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { Child } from '@drover/testkit';

export interface Azurite {
  /** Value for a connection setting of an application. */
  readonly connectionString: string;
  /** URL of the queue service, without the account. */
  readonly url: string;
  readonly child: Child;
  stop(): Promise<void>;
}

/** The default account of Azurite; its key is public. */
const account = 'devstoreaccount1';
const accountKey = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

/** Connection string of the default account behind another address, such as a proxy. */
export function azuriteConnectionString(url: string, key = accountKey): string {
  const protocol = new URL(url).protocol.slice(0, -1);
  return `DefaultEndpointsProtocol=${protocol};AccountName=${account};AccountKey=${key};QueueEndpoint=${url}/${account};`;
}

/**
 * Starts an Azurite queue service in its own process, on a free port, with its data in memory. It ends when this process ends,
 * also by a signal.
 */
export async function startAzurite(): Promise<Azurite> {
  const main = createRequire(import.meta.url).resolve('azurite/dist/src/queue/main.js');
  const program = `process.once('disconnect', () => process.exit()); require(${JSON.stringify(main)})`;
  const child = new Child(
    process.execPath,
    ['-e', program, 'azurite', '--queuePort', '0', '--inMemoryPersistence', '--silent', '--disableTelemetry'],
    { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], cwd: tmpdir() },
  );
  try {
    const line = await child.line(/successfully listens on http/);
    const url = /http:\/\/\S+/.exec(line)?.[0] ?? '';
    return { connectionString: azuriteConnectionString(url), url, child, stop: () => child.end() };
  } catch (error) {
    await child.end();
    throw error;
  }
}
