import { Session } from 'node:inspector/promises';
import type { Profiler } from 'node:inspector';

/** Runs something and says where this process spent its time meanwhile. */
export async function profiled<T>(run: () => Promise<T>): Promise<{ result: T; profile: Profiler.Profile }> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    const result = await run();
    const { profile } = await session.post('Profiler.stop');
    return { result, profile };
  } finally {
    session.disconnect();
  }
}
