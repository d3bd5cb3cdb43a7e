import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { newApiKey } from '@drover/collection-engine';
import { controlRoutes, createClient, type Client } from '@drover/contracts';
import {
  createLog,
  createMetrics,
  deadlineAfter,
  Health,
  Secret,
  systemClock,
  systemRandomness,
} from '@drover/service-kit';
import { composeControlPlane } from '../../src/compose.js';
import { parseControlPlaneConfig } from '../../src/config.js';
import { parseJson, type Answer } from './raw-http.js';
import { keepSecret, see } from './secrets.js';

export interface RequestOptions {
  readonly method?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
}

export interface RunningControlPlane {
  readonly url: string;
  /** Good for everything. */
  readonly adminKey: string;
  readonly health: Health;
  /** What it has logged so far, down to debug. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  readonly client: (key?: string) => Client<typeof controlRoutes>;
  request(path: string, options?: RequestOptions): Promise<Answer>;
  /** Turns readiness red and drains, as a process does on SIGTERM. */
  drain(withinMs?: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * One composed control plane on a port of its own, over the database at `databaseUrl`. Of several over one database the
 * last to start replaces the admin key of the others, unless it is given theirs.
 */
export async function startControlPlane(
  databaseUrl: Secret,
  environment: Readonly<Record<string, string>> = {},
  adminKey = newKey(),
): Promise<RunningControlPlane> {
  const directory = await mkdtemp(path.join(tmpdir(), 'drover-test-'));
  const keyFile = path.join(directory, 'credentials.json');
  await writeFile(keyFile, JSON.stringify({ apiKey: adminKey }));
  const log: Record<string, unknown>[] = [];
  const destination = {
    write(line: string) {
      see('log', line);
      log.push(JSON.parse(line) as Record<string, unknown>);
    },
  };
  const config = parseControlPlaneConfig({
    DATABASE_URL: withPassword(databaseUrl).reveal(),
    DROVER_PORT: '0',
    DROVER_BOOTSTRAP_KEY_FILE: keyFile,
    DROVER_DATABASE_CONNECT_TIMEOUT_MS: '60000', // a connection may take seconds on a busy machine
    ...environment,
  });
  const health = new Health();
  const { life, announce } = composeControlPlane(config, {
    clock: systemClock,
    randomness: systemRandomness,
    sinks: { log: createLog('control-plane', 'debug', destination), metrics: createMetrics('control-plane') },
    health,
  });
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> =>
    (stopped ??= (async () => {
      await life.stop();
      await rm(directory, { recursive: true, force: true });
    })());
  try {
    await life.start(new AbortController().signal);
  } catch (error) {
    await stop();
    see('start error', JSON.stringify(error, Object.getOwnPropertyNames(error)));
    throw error;
  }
  health.move('ready');
  const url = announce?.()['public'] ?? '';
  return {
    url,
    adminKey,
    health,
    log,
    client: (key) => createClient(controlRoutes, { url, fetch: send, ...(key !== undefined && { apiKey: key }) }),
    async request(address, { method = 'GET', key, headers = {}, json } = {}) {
      const response = await send(`${url}${address}`, {
        method,
        headers: {
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(json !== undefined && { body: JSON.stringify(json) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, body: parseJson(text) };
    },
    async drain(withinMs = 10_000) {
      health.move('draining');
      const deadline = deadlineAfter(systemClock, withinMs);
      try {
        await life.drain(deadline.signal);
      } finally {
        deadline.cancel();
      }
    },
    stop,
  };
}

/** A new key that is not in the store yet. */
export function newKey(): string {
  const text = newApiKey(systemRandomness).text.reveal();
  keepSecret('the secret of a key', secretOf(text));
  return text;
}

export const idOf = (key: string): string => key.split('_')[1] ?? '';
export const secretOf = (key: string): string => key.slice(-43);

/** As `fetch`, but what comes back is kept: only the answer that makes a key may show its secret, in its one place. */
const send: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const text = await response.clone().text();
  const body = parseJson(text);
  const shown =
    typeof body === 'object' && body !== null && 'secret' in body && typeof body.secret === 'string'
      ? body.secret
      : undefined;
  if (shown !== undefined) keepSecret('the secret of a key', secretOf(shown));
  const address = input instanceof Request ? input.url : String(input);
  const rest = shown === undefined ? text : text.replace(`"secret":${JSON.stringify(shown)}`, '');
  see(
    `answer of ${init?.method ?? 'GET'} ${address.replace(/drv_\w+/, '…')}`,
    rest + JSON.stringify([...response.headers]),
  );
  return response;
};

/** A password that must not be seen; where the test server asks for none, one that it ignores. */
function withPassword(databaseUrl: Secret): Secret {
  const url = new URL(databaseUrl.reveal());
  url.password ||= 'hunter2-of-the-test-database';
  keepSecret('the database password', url.password);
  return new Secret(url.href);
}
