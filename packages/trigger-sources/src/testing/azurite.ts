import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { Child } from '@drover/testkit';

export interface Azurite {
  /** Value for a connection setting of an application. */
  readonly connectionString: string;
  /** URL of the queue service, without the account. */
  readonly url: string;
  /** URLs of the services that were started. */
  readonly urls: AzuriteUrls;
  readonly child: Child;
  stop(): Promise<void>;
}

type AzuriteService = 'blob' | 'queue' | 'table';
export type AzuriteUrls = Partial<Readonly<Record<AzuriteService, string>>>;

/** Azurite loads thousands of modules: with other tests on a slow machine that took more than the 30 s of other programs. */
const startWithinMs = 90_000;

/** The default account of Azurite; its key is public. */
const account = 'devstoreaccount1';
const accountKey = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

/** Connection string of the default account behind other addresses, such as a proxy; a text is that of the queues. */
export function azuriteConnectionString(urls: string | AzuriteUrls, key = accountKey): string {
  const all = typeof urls === 'string' ? { queue: urls } : urls;
  const endpoints = Object.entries(all).map(
    ([service, url]) => `${service[0]?.toUpperCase()}${service.slice(1)}Endpoint=${url}/${account};`,
  );
  return `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${key};${endpoints.join('')}`;
}

/**
 * Starts an Azurite in its own process, on free ports, with its data in memory: its queue service, or all three. It ends when this
 * process ends, also by a signal. It refuses requests of newer API versions unless `args` say otherwise.
 */
export async function startAzurite(
  services: 'queue' | 'all' = 'queue',
  args: readonly string[] = [],
): Promise<Azurite> {
  const entry = services === 'queue' ? 'azurite/dist/src/queue/main.js' : 'azurite/dist/src/azurite.js';
  const main = createRequire(import.meta.url).resolve(entry);
  const program = `process.once('disconnect', () => process.exit()); require(${JSON.stringify(main)})`;
  const ports = services === 'queue' ? ['--queuePort'] : ['--blobPort', '--queuePort', '--tablePort'];
  const child = new Child(
    process.execPath,
    [
      '-e',
      program,
      'azurite',
      ...ports.flatMap((port) => [port, '0']),
      '--inMemoryPersistence',
      '--silent',
      '--disableTelemetry',
      ...args,
    ],
    { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], cwd: tmpdir() },
  );
  const urlOf = async (service: AzuriteService): Promise<string> => {
    const line = await child.line(
      new RegExp(`Azurite ${service} service (is )?successfully listen`, 'i'),
      startWithinMs,
    );
    return /http:\/\/\S+/.exec(line)?.[0] ?? '';
  };
  try {
    const queue = await urlOf('queue');
    const others = services === 'queue' ? {} : { blob: await urlOf('blob'), table: await urlOf('table') };
    const urls = { ...others, queue };
    return { connectionString: azuriteConnectionString(urls), url: queue, urls, child, stop: () => child.end() };
  } catch (error) {
    await child.end();
    throw error;
  }
}
