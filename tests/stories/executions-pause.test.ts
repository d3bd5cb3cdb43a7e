import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { times } from '../support/executions.js';
import { withReplicas } from '../support/replicas.js';

describe('a single control plane', () => {
  it('that was paused past its lease keeps what runs: nothing runs twice', () => {
    const answers: (() => void)[] = [];
    return withReplicas({ DROVER_HOME_TTL_MS: '2000' }, async (set) => {
      const { ledger } = set;
      ledger.work = () => new Promise((resolve) => answers.push(() => resolve('done')));
      const one = await set.start();
      const common = { executionMode: 'POOL', queueSize: 100, concurrency: 20 } as const;
      await one.api.register({ ...common, name: 'long', endpointUrl: ledger.url('long'), timeoutMs: 60_000 });
      // Its time limit passes during the pause, and the answer arrives in the meantime.
      await one.api.register({ ...common, name: 'short', endpointUrl: ledger.url('short'), timeoutMs: 3_000 });
      const ids = await one.api.acceptedBatch('long', times(20, { input: {} }));
      await eventually(() => expect(answers.length).toBe(20));
      // Last: a slow machine must not take longer than their time limit until the pause.
      ids.push(...(await one.api.acceptedBatch('short', times(10, { input: {} }))));
      await eventually(() => expect(answers.length).toBe(30));
      one.child.kill('SIGSTOP');
      for (const answer of answers.slice(10)) answer();
      await pause(5_000); // only time ends a lease
      one.child.kill('SIGCONT');
      for (const answer of answers.slice(0, 10)) answer();
      for (const id of ids) expect(await one.api.ended(id)).toMatchObject({ status: 'success', attempts: 1 });
      expect([ledger.all.length, ledger.repeats, ledger.violations]).toEqual([30, 0, []]);
      expect(one.logged('ownership.lost')).toEqual([]);
      expect(one.logged('ownership.resumed').length).toBeGreaterThan(0);
      // It serves on.
      ledger.work = () => 'after';
      expect(await one.api.ended(await one.api.accepted('long', {}))).toMatchObject({ status: 'success', attempts: 1 });
    });
  });

  it.each([1_000, 15_000])('makes no dead letters of 100 queued calls whose endpoint is away for %i ms', (awayMs) =>
    withReplicas({}, async (set) => {
      const one = await set.start();
      const endpoint = new RestartingEndpoint();
      const url = await endpoint.open();
      try {
        await one.api.register({ name: 'away', executionMode: 'POOL', endpointUrl: url, queueSize: 200 });
        const ids = await one.api.acceptedBatch('away', times(100, { input: {} }));
        await eventually(() => expect(endpoint.answered).toBeGreaterThan(5));
        await endpoint.close();
        await pause(awayMs); // the endpoint is away
        await endpoint.open();
        for (const id of ids) expect(await one.api.ended(id, 60_000)).toMatchObject({ status: 'success' });
        const letters = await one.api.request('GET', '/v1/dead-letters');
        expect(letters).toMatchObject({ status: 200, body: { executions: [] } });
      } finally {
        await endpoint.close();
      }
    }),
  );
});

/** An endpoint that ends, with its connections, and comes back on the same port. */
class RestartingEndpoint {
  answered = 0;
  #server: Server | undefined;
  #port = 0;

  async open(): Promise<string> {
    const server = createServer((request, response) => {
      request.resume().on('end', () =>
        setImmediate(() => {
          this.answered += 1;
          response.setHeader('content-type', 'application/json').end('"done"');
        }),
      );
    });
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port; // it listens on TCP
    return `http://127.0.0.1:${this.#port}/invoke`;
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }
}
