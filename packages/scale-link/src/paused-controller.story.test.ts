import { fileURLToPath } from 'node:url';
import { Secret, systemClock, systemRandomness } from '@drover/service-kit';
import { Child, eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { openScaleLink } from './open-scale-link.js';
import { ScaleLinkClient } from './scale-link-client.js';
import { ScaleLinkServer } from './scale-link-server.js';
import { attachMessage } from './testing/link-messages.js';

const program = fileURLToPath(new URL('../dist/controller-process.test.fixture.js', import.meta.url));
const token = new Secret('a-token-for-tests');

describe('a scale controller that is paused', () => {
  it('loses its runtimes to its successor, although its connections stay open', async () => {
    const paused = new Child(process.execPath, [program]);
    let isLeading = false;
    let attached = 0;
    const successor = new ScaleLinkServer({
      host: '127.0.0.1',
      port: 0,
      token,
      tls: undefined,
      clock: systemClock,
      refusal: () => (isLeading ? undefined : 'this scale controller does not lead'),
      onRefused: () => undefined,
      onAttached: () => {
        attached += 1;
        return { received: () => undefined, detached: () => undefined };
      },
    });
    await successor.start();
    const urls = [await paused.line(/^http:/), successor.url];
    const detached: string[] = [];
    const client = new ScaleLinkClient({
      open: urls.map((url) => (signal) => openScaleLink({ url, token }, signal)),
      onDetached: (reason) => detached.push(reason),
      onUnreachable: () => undefined,
      clock: systemClock,
      randomness: systemRandomness,
    });
    client.serve({ attach: () => attachMessage(), attached: () => undefined, received: () => undefined });
    await client.start();
    try {
      await paused.line(/^attached/);
      paused.kill('SIGSTOP');
      isLeading = true;
      await eventually(() => expect(attached).toBe(1));
      expect(detached).toEqual([expect.stringContaining('ping')]);
    } finally {
      await client.stop();
      await successor.stop();
      await paused.end();
    }
  });
});
