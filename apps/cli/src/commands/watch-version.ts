import type { applicationRoutes, Client } from '@drover/contracts';
import { sleep, systemClock } from '@drover/service-kit';

/** In CI a deployment that does not last must fail the build. */
const ciWatchMs = 30_000;
const everyMs = 1_000;

interface WatchedVersion {
  readonly app: string;
  readonly version: string;
  /** Of the application after the deployment. */
  readonly generation: number;
}

/** How the watch of a version ended. */
export type WatchOutcome =
  | { readonly kind: 'kept' }
  | { readonly kind: 'rolled-back'; readonly reason: string }
  /** Another change took its traffic, or the application is gone. */
  | { readonly kind: 'replaced'; readonly by: string };

/** Returns the time for which `drover deploy` watches by itself: 30 s in CI, which sets `CI`. */
export function usualWatchMs({ CI: ci = '' }: NodeJS.ProcessEnv): number {
  return ci === '' || ci === 'false' || ci === '0' ? 0 : ciWatchMs;
}

/**
 * Watches a version that was just deployed until the time is over, it is rolled back, or another change takes its traffic. A platform
 * that does not answer for a while, as during a restart, is asked again; one that does not answer at the end fails the watch.
 */
export async function watchVersion(
  client: Pick<Client<typeof applicationRoutes>, 'getApplication'>,
  { app, version, generation }: WatchedVersion,
  watchMs: number,
): Promise<WatchOutcome> {
  const untilMs = systemClock.monotonicMs() + watchMs;
  for (;;) {
    const leftMs = untilMs - systemClock.monotonicMs();
    if (leftMs > 0) await sleep(systemClock, Math.min(everyMs, leftMs));
    const isLast = leftMs <= everyMs;
    const shown = await client.getApplication({ params: { app } }).catch((error: unknown) => {
      if (isLast) throw error;
    });
    if (!shown) continue;
    const { application, changes } = shown;
    const newer = changes.filter((change) => change.generation > generation);
    const rollback = newer.find(({ kind, traffic }) => kind.startsWith('rolled-back') && (traffic[version] ?? 0) === 0);
    if (rollback) return { kind: 'rolled-back', reason: rollback.reason };
    const [latest] = newer;
    if (latest && (application.traffic[version] ?? 0) === 0) return { kind: 'replaced', by: latest.reason };
    if (isLast) return { kind: 'kept' };
  }
}
