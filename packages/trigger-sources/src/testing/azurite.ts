import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { Child } from '@drover/testkit';

export interface Azurite {
  /** For a connection setting of an application. */
  readonly connectionString: string;
  /** Of the queue service, without the account. */
  readonly url: string;
  readonly child: Child;
  stop(): Promise<void>;
}

/** The account that every Azurite has; its key is public. */
const account = 'devstoreaccount1';
const accountKey = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

/** The same account behind another address, such as that of a proxy. */
export function azuriteConnectionString(url: string, key = accountKey): string {
  const protocol = new URL(url).protocol.slice(0, -1);
  return `DefaultEndpointsProtocol=${protocol};AccountName=${account};AccountKey=${key};QueueEndpoint=${url}/${account};`;
}

/**
 * Starts a real Azurite queue service in a process of its own, on a free port, with its data in memory. It ends with this
 * process, however that ends.
 */
export async function startAzurite(): Promise<Azurite> {
  const main = createRequire(import.meta.url).resolve('azurite/dist/src/queue/main.js');
  const program = `process.once('disconnect', () => process.exit()); require(${JSON.stringify(main)})`;
  const child = new Child(
    process.execPath,
    // Newer SDKs ask for newer versions of the API than Azurite knows; what we use of it has not changed.
    [
      '-e',
      program,
      'azurite',
      '--queuePort',
      '0',
      '--inMemoryPersistence',
      '--silent',
      '--disableTelemetry',
      '--skipApiVersionCheck',
    ],
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
