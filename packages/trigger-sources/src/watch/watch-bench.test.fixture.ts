import { systemClock, systemRandomness, type Clock } from '@drover/service-kit';
import { eventually } from '@drover/testkit';
import type { BindingExtensionFactory, ExtensionParts } from '../binding-extension.js';
import { LockedMessages } from '../locked-messages.js';
import type { TriggerSourceObservation } from '../observations.js';
import type { ParkedTrigger } from '../parked-trigger.js';
import { SourceWakeups } from '../source-wakeups.js';
import { MemoryTriggerStore } from '../store/memory-trigger-store.js';
import { TriggerWatch, type NoticedWork } from './trigger-watch.js';

type Settings = Readonly<Record<string, string>>;
type Host = { readonly [Section in 'queues' | 'serviceBus' | 'eventHubs' | 'blobs']: object } & {
  readonly singleton: { readonly listenerLockPeriodMs: number };
};
const host: Host = {
  queues: {},
  serviceBus: {},
  eventHubs: {},
  blobs: {},
  singleton: { listenerLockPeriodMs: 60_000 },
};

/** What a process has around its parked applications. */
export class WatchBench {
  readonly wakeups = new SourceWakeups();
  readonly store = new MemoryTriggerStore();
  readonly observed: TriggerSourceObservation[] = [];
  readonly watch: TriggerWatch;
  readonly #clock: Clock;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
    this.watch = new TriggerWatch({ ...this.#io(), wakeups: this.wakeups });
  }

  parts(settings: Settings, application = 'default/app'): ExtensionParts<Host, TriggerSourceObservation> {
    const { wakeups, store } = this;
    return {
      ...this.#io(),
      application,
      settings,
      host,
      cores: 1,
      wakeups,
      lockedMessages: new LockedMessages(),
      store,
    };
  }

  park(
    factory: BindingExtensionFactory<Host, TriggerSourceObservation>,
    settings: Settings,
    options: Readonly<Record<string, unknown>>,
    application?: string,
  ): ParkedTrigger {
    const [type = ''] = factory.types.triggers;
    const extension = factory.create(this.parts(settings, application));
    const prepared = extension.prepare?.({ functionName: 'Run', type, options });
    if (!prepared) throw new Error(`${type} has no trigger`);
    return prepared.park();
  }

  /** Watches one trigger as an application of its own. */
  start(parked: ParkedTrigger): {
    readonly noticed: NoticedWork[];
    readonly end: () => void;
    readonly once: () => Promise<NoticedWork>;
  } {
    const noticed: NoticedWork[] = [];
    const end = this.watch.watch({ application: 'default/app', triggers: [{ functionName: 'Run', parked }] }, (work) =>
      noticed.push(work),
    );
    return {
      noticed,
      end,
      once: () =>
        eventually(() => {
          const [first] = noticed;
          if (!first) throw new Error('nothing was noticed');
          return first;
        }),
    };
  }

  /** Resolves when the emulator was connected so many times. */
  connected(times: number): Promise<void> {
    return eventually(() => {
      const found = this.observed.filter(({ kind }) => kind === 'watch.endpoint-connected').length;
      if (found < times) throw new Error(`connected ${found} times`);
    });
  }

  #io() {
    return {
      clock: this.#clock,
      randomness: systemRandomness,
      observe: (observation: TriggerSourceObservation) => void this.observed.push(observation),
    };
  }
}
