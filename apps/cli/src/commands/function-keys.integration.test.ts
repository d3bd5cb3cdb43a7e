import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RuntimeKeys } from '@drover/contracts';
import { newApiKey } from '@drover/collection-engine';
import { systemRandomness } from '@drover/service-kit';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { listFunctionKeys } from './function-keys.js';

const key = (value: string) => [{ name: 'default', value }];
const keys: RuntimeKeys = {
  applications: [
    {
      name: 'default/shop',
      requiresKeys: true,
      hostKeys: key('host-key'),
      functions: [
        {
          name: 'locked',
          trigger: 'httpTrigger',
          isDisabled: false,
          http: { path: 'shop/locked', methods: ['GET'], authLevel: 'function' },
          keys: key('own-key'),
        },
        {
          name: 'open',
          trigger: 'httpTrigger',
          isDisabled: false,
          http: { path: 'shop/open', methods: [], authLevel: 'anonymous' },
          keys: key('unused-key'),
        },
      ],
    },
  ],
};

/** A platform that knows one master key. */
async function withPlatform(answer: RuntimeKeys, use: (url: string) => Promise<void>): Promise<void> {
  const server = createServer((request, response) => {
    const isRight = request.url === '/admin/keys' && request.headers['x-functions-key'] === 'master';
    response.writeHead(isRight ? 200 : 401).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Runs the command and returns what it wrote to standard output. */
async function run(env: NodeJS.ProcessEnv, flags: { dataDir?: string; json?: boolean } = {}): Promise<string> {
  let output = '';
  const stdout = { write: (text: string) => ((output += text), true) };
  const stderr = { write: () => true };
  await listFunctionKeys(flags, { env, stdout, stderr } as unknown as NodeJS.Process); // all that the command uses
  return output;
}

describe('drover keys functions', () => {
  it('lists URLs and keys with the master key of the data directory', () =>
    withPlatform(keys, (url) =>
      withScratchDirectory(async (dataDir) => {
        const apiKey = newApiKey(systemRandomness).text.reveal();
        await writeFile(path.join(dataDir, 'credentials.json'), JSON.stringify({ url, apiKey }));
        await writeFile(path.join(dataDir, 'functions-master-key'), 'master\n');
        expect(await run({}, { dataDir })).toBe(
          [
            'shop',
            `    locked  GET         ${url}/shop/locked  (key)`,
            `    open    any method  ${url}/shop/open`,
            '    key of all functions  host-key',
            '    key of locked         own-key',
            '',
            '',
          ].join('\n'),
        );
        await writeFile(path.join(dataDir, 'functions-master-key'), 'of another platform');
        await expect(run({}, { dataDir })).rejects.toThrow('The master key is not the one of the running platform');
        await expect(run({}, { dataDir: path.join(dataDir, 'none') })).rejects.toThrow('credentials.json');
      }),
    ));

  it('asks the server that the environment names', () =>
    withPlatform(keys, async (url) => {
      const env = { DROVER_URL: url, DROVER_FUNCTIONS_MASTER_KEY: 'master' };
      expect(JSON.parse(await run(env, { json: true }))).toEqual({ url, ...keys });
    }));

  it('says that keys are off, and that nothing answers', async () => {
    const [shop] = keys.applications;
    const off = { applications: shop ? [{ ...shop, requiresKeys: false }] : [] };
    await withPlatform(off, async (url) => {
      const output = await run({ DROVER_URL: url, DROVER_FUNCTIONS_MASTER_KEY: 'master' });
      expect(output).toContain('Function keys are off');
      expect(output).not.toContain('host-key');
    });
    const env = { DROVER_URL: 'http://127.0.0.1:1', DROVER_FUNCTIONS_MASTER_KEY: 'master' };
    await expect(run(env)).rejects.toThrow('http://127.0.0.1:1 does not answer');
  });
});
