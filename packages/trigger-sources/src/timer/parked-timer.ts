import type { Clock } from '@drover/service-kit';
import type { ParkedTimer } from '../parked-trigger.js';
import { parseLease } from '../store/lease-record.js';
import type { TriggerStore } from '../store/trigger-store.js';
import { timerOptions, zoneSettingsOf } from './timer-options.js';
import { parseStatus, resumeStatus, upcomingStatus } from './timer-status.js';

interface ParkedTimerOptions {
  readonly functionName: string;
  readonly binding: Readonly<Record<string, unknown>>;
  readonly settings: Readonly<Record<string, string | undefined>>;
  readonly store: TriggerStore;
  /** Of the lease and the status in the store. */
  readonly key: string;
  readonly clock: Clock;
}

/**
 * When a timer without a listener is due: what its last listener stored, else the next occurrence of its schedule. The schedule is
 * parsed when it is needed: it would take more memory than all else.
 */
export function parkedTimer({ functionName, binding, settings, store, key, clock }: ParkedTimerOptions): ParkedTimer {
  const zone = zoneSettingsOf(settings);
  return {
    kind: 'timer',
    async dueAtMs(signal) {
      const found = await store.read(key, signal);
      const now = clock.now();
      const { schedule, isMonitored } = timerOptions({ functionName, binding, settings: zone, now });
      const stored = parseStatus(found && parseLease(found.value).state);
      return resumeStatus(isMonitored ? stored : upcomingStatus(stored, now), schedule, now).next;
    },
  };
}
