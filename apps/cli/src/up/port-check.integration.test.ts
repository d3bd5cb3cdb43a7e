import { createServer } from 'node:net';
import { systemRandomness } from '@drover/service-kit';
import { describe, expect, it } from 'vitest';
import { freeLoopbackPort } from './port-check.js';

describe('freeLoopbackPort', () => {
  it('returns a port that the system gives to no socket that names none', async () => {
    const ports = await Promise.all(Array.from({ length: 50 }, () => freeLoopbackPort(systemRandomness)));
    for (const port of ports) {
      expect(port).toBeGreaterThanOrEqual(20_000);
      expect(port).toBeLessThan(32_768);
    }
  });

  it('passes over a port that is in use', async () => {
    const server = createServer();
    const taken = await freeLoopbackPort(systemRandomness);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(taken, '127.0.0.1', resolve);
    });
    try {
      // Chooses the port in use first, and another one then.
      const chosen = [taken - 20_000, taken - 20_000 + 1_000];
      const bytes = (count: number): Buffer => {
        const buffer = Buffer.alloc(count);
        buffer.writeUInt32BE(chosen.shift() ?? systemRandomness.bytes(4).readUInt32BE());
        return buffer;
      };
      const port = await freeLoopbackPort({ ...systemRandomness, bytes });
      expect(port).not.toBe(taken);
      expect(chosen.length).toBeLessThan(2);
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
