import { runtimeStatePath, type RuntimeServedState } from '@drover/contracts';
import type { RuntimeConnection } from '@drover/dispatchers';
import type { BarrierSubject } from '@drover/event-bus';
import { BackOff, messageOf, sleep, type Clock, type Randomness } from '@drover/service-kit';

/** How long one request waits; after that it is sent again, to the runtime that is there then. */
const askForMs = 1_000;
const failureBackOff = { firstMs: 40, maxMs: 250, factor: 1.5 };

/**
 * Resolves when the runtime serves calls as a change of an application says. Resolves with what is missing once `signal` has aborted.
 * The runtime answers at the moment of its own change, so nothing is polled while it is there.
 */
export async function untilRuntimeServes(
  parts: {
    readonly connection: Pick<RuntimeConnection, 'endpoint' | 'doubt'>;
    readonly clock: Clock;
    readonly randomness: Randomness;
  },
  { key, generation, removed }: BarrierSubject,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { connection, clock } = parts;
  const backOff = new BackOff(failureBackOff, parts);
  const path = runtimeStatePath(key, { generation, removed, waitMs: askForMs });
  let waitsFor: string | undefined = 'the runtime, which has not started yet';
  while (!signal.aborted) {
    try {
      const answer = await connection.endpoint()?.get(path, '', { timeoutMs: 2 * askForMs, signal });
      if (answer?.status === 200) {
        ({ waitsFor } = JSON.parse(answer.body?.toString('utf8') ?? '') as RuntimeServedState);
        if (waitsFor === undefined) return undefined;
        continue;
      }
      if (answer?.status === 404) return undefined; // a runtime of an earlier release cannot tell
      if (answer) waitsFor = `the runtime, which answered with status ${answer.status}`;
    } catch (error) {
      if (signal.aborted) break;
      connection.doubt();
      waitsFor = `the runtime, which does not answer: ${messageOf(error)}`;
    }
    await sleep(clock, backOff.nextMs(), signal).catch(() => undefined);
  }
  return waitsFor;
}
