import type { DemandedEndpoint } from './emulator-demand.js';

/** Message of a runtime to the process that supervises the emulators, and of that to the emulators. */
export interface EmulatorsDemandMessage {
  readonly type: 'emulators.demand';
  readonly endpoints: readonly DemandedEndpoint[];
}

/** Tells the message from others on the same channel. Both ends are of the same version. */
export function isEmulatorsDemand(message: unknown): message is EmulatorsDemandMessage {
  return (
    typeof message === 'object' &&
    message !== null &&
    'type' in message &&
    message.type === 'emulators.demand' &&
    'endpoints' in message &&
    Array.isArray(message.endpoints)
  );
}

/** Message of the emulators to the process that supervises them when they serve what was demanded: where their page is, if they have one. */
export interface EmulatorsPageMessage {
  readonly type: 'emulators.page';
  readonly url: string | undefined;
}

/** Tells the message from others on the same channel. Both ends are of the same version. */
export function isEmulatorsPage(message: unknown): message is EmulatorsPageMessage {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'emulators.page';
}
