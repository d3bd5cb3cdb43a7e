import { readFile } from 'node:fs/promises';
import path from 'node:path';
import {
  defaultPorts,
  readEntities,
  startEmulators,
  startEmulatorsPage,
  type Emulators,
  type EmulatorsPage,
  type Entities,
} from '@drover/azure-emulators';
import { createLog, isLoopback, runProcess, step } from '@drover/service-kit';
import { renderEntityLines } from '../output/entity-lines.js';
import { LiveBlock } from '../output/live-block.js';

export interface EmulatorsFlags {
  readonly host?: string;
  readonly amqpPort?: number;
  readonly moreAmqpPorts?: readonly number[];
  readonly blobPort?: number;
  readonly queuePort?: number;
  readonly tablePort?: number;
  readonly pagePort?: number;
  readonly dataDir?: string;
  readonly entities?: string;
  readonly declaredOnly?: boolean;
  /** MiB. */
  readonly maxMemory?: number;
  readonly json?: boolean;
}

const usualPagePort = 10_003;
const refreshMs = 1_000;

/** Runs `drover emulators` until it is stopped. */
export async function runEmulators(flags: EmulatorsFlags, host: NodeJS.Process): Promise<void> {
  const entities = flags.entities === undefined ? undefined : await readEntitiesFile(flags.entities);
  const dataDirectory = flags.dataDir === undefined ? undefined : path.resolve(flags.dataDir);
  const isLive = !flags.json && host.stdout.isTTY;
  const block = new LiveBlock((text) => void host.stdout.write(text));
  const emulators = await startEmulators({
    ...(flags.host !== undefined && { host: flags.host }),
    ports: {
      amqp: flags.amqpPort ?? defaultPorts.amqp,
      blob: flags.blobPort ?? defaultPorts.blob,
      queue: flags.queuePort ?? defaultPorts.queue,
      table: flags.tablePort ?? defaultPorts.table,
    },
    ...(flags.moreAmqpPorts !== undefined && { moreAmqpPorts: flags.moreAmqpPorts }),
    ...(dataDirectory !== undefined && { dataDirectory }),
    ...(entities && { entities }),
    ...(flags.declaredOnly && { createOnFirstUse: false }),
    warn: (sentence) => {
      if (isLive && host.stderr.isTTY) block.say(`drover: ${sentence}`);
      else host.stderr.write(`drover: ${sentence}\n`);
    },
    ...(flags.maxMemory !== undefined && { maxBytes: flags.maxMemory * 1024 * 1024 }),
  });
  const page = await startPage(emulators, flags.pagePort);
  const report = { emulators, page, dataDirectory };
  let timer: NodeJS.Timeout | undefined;
  await runProcess(
    {
      name: 'drover emulators',
      parse: () => ({}),
      compose: () => ({
        life: step('emulators', {
          up: async () => {
            host.stdout.write(flags.json ? renderJson(report) : renderText(report));
            if (isLive) timer = showLive(emulators, block, host.stdout);
          },
          down: async () => {
            clearInterval(timer);
            await page.stop();
            await emulators.stop();
          },
        }),
      }),
      // Nothing is in flight that a drain could wait for: clients reconnect.
      log: () => createLog('emulators', 'warn', { write: (line) => void host.stderr.write(line) }),
    },
    host,
  );
}

async function readEntitiesFile(file: string): Promise<Entities> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`The entities file ${file} cannot be read: ${reason}. Check --entities.`, { cause: error });
  }
  return readEntities(text, file);
}

/** The page is a convenience: on its usual port if that is free, else on any; a port that was asked for must be free. */
async function startPage(emulators: Emulators, port: number | undefined): Promise<EmulatorsPage> {
  try {
    return await startEmulatorsPage(() => [emulators], port ?? usualPagePort);
  } catch (error) {
    if (port === undefined) return startEmulatorsPage(() => [emulators], 0);
    await emulators.stop();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `The page cannot listen on port ${port}: ${reason}. Choose another --page-port (0 selects a free one).`,
      {
        cause: error,
      },
    );
  }
}

interface EmulatorsReport {
  readonly emulators: Emulators;
  readonly page: EmulatorsPage;
  readonly dataDirectory: string | undefined;
}

function renderJson({
  emulators: { host, ports, connectionStrings, certificate },
  page,
  dataDirectory,
}: EmulatorsReport): string {
  return `${JSON.stringify({ event: 'ready', host, ports, connectionStrings, page: page.url, dataDirectory, certificate })}\n`;
}

function renderText({ emulators: { host, connectionStrings }, page, dataDirectory }: EmulatorsReport): string {
  const { serviceBus = '', storage = '' } = connectionStrings;
  const exposed = isLoopback(host) ? '' : `They listen on ${host}: every machine that reaches it can read and write.\n`;
  return `
Drover emulators are up.

  Service Bus, Event Hubs   ${serviceBus}
  Storage                   ${storage}
  page                      ${page.url}
  certificate for TLS       ${page.url}certificate.pem
  data                      ${dataDirectory ?? 'in memory; --data-dir makes it durable'}

${exposed}Paste the connection strings into local.settings.json. Press Ctrl-C to stop.

`;
}

function showLive(emulators: Emulators, block: LiveBlock, terminal: NodeJS.WriteStream): NodeJS.Timeout {
  const show = (): void =>
    block.show(renderEntityLines(emulators.status(), (terminal.rows || 24) - 2), terminal.columns || 80);
  show();
  return setInterval(show, refreshMs);
}
