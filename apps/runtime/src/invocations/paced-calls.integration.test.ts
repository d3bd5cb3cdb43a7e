import { message, type WorkerScript } from '@drover/function-rpc/testing';
import { eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { version, workerBenches } from '../worker-side.test.fixture.js';

const { open } = workerBenches();
const v1 = version('v1');
const host = 'tenant/app:m1';

/** A worker whose event loop stands still in a call until `finish`: it answers the call and the probes behind it one after the other. */
class ComputingWorker {
  /** Ids of the calls that it was sent. */
  readonly calls: string[] = [];
  readonly #held: (() => void)[] = [];
  isComputing = true;

  readonly script: WorkerScript = {
    capabilities: { WorkerStatus: 'true' },
    invoke: async ({ invocationId }) => {
      this.calls.push(invocationId);
      await this.#turn();
      return undefined;
    },
    answer: (received) => {
      if (received.kind !== 'workerStatusRequest' || !this.isComputing) return undefined;
      void this.#turn().then(() => this.respond(received.requestId));
      return 'silence';
    },
  };

  respond: (requestId: string) => void = () => undefined;

  /** Ends everything that it was sent so far. */
  finish(): void {
    for (const end of this.#held.splice(0)) end();
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => this.#held.push(resolve));
  }
}

async function benchOf() {
  const bench = await open();
  void bench.side.deployments.deploy(v1);
  const join = async (id: string): Promise<ComputingWorker> => {
    const worker = new ComputingWorker();
    const scripted = await bench.ready(id, v1, worker.script);
    worker.respond = (requestId) => scripted.send(message('workerStatusResponse', {}, requestId));
    return worker;
  };
  return { bench, join };
}

describe('calls of a function that computes', () => {
  it('wait in the runtime, so that workers that come later take their part', async () => {
    const { bench, join } = await benchOf();
    const first = await join('w1');
    const outcomes = Array.from({ length: 6 }, () => bench.invoke(host));
    await eventually(() => expect(first.calls).toHaveLength(1));
    const second = await join('w2');
    const third = await join('w3');
    await eventually(() => expect([second.calls.length, third.calls.length]).toEqual([1, 1]));
    expect(first.calls).toHaveLength(1);

    await bench.clock.advance(50);
    await eventually(() => {
      for (const worker of [first, second, third]) worker.finish();
      expect(first.calls.length + second.calls.length + third.calls.length).toBe(6);
      expect(bench.side.tracker.size).toBe(0);
    });
    expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual(outcomes.map(() => 'succeeded'));
    expect(new Set([first, second, third].flatMap(({ calls }) => calls)).size).toBe(6);
  });

  it('are handed over together to a worker whose event loop turns', async () => {
    const { bench, join } = await benchOf();
    const worker = await join('w1');
    worker.isComputing = false;
    const outcomes = Array.from({ length: 20 }, () => bench.invoke(host));
    await eventually(() => expect(worker.calls).toHaveLength(20));
    worker.finish();
    expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual(outcomes.map(() => 'succeeded'));
  });

  it('are all handed to a worker that a debugger may halt', async () => {
    const { bench } = await benchOf();
    const worker = new ComputingWorker();
    await bench.connect('w1', { script: worker.script, version: v1, isDebugged: true });
    await bench.until('w1', 'ready');
    const outcomes = Array.from({ length: 3 }, () => bench.invoke(host));
    await eventually(() => expect(worker.calls).toHaveLength(3));
    worker.finish();
    await Promise.all(outcomes);
  });
});
