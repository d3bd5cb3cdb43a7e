import { supervisedProcessReaders, type Readers, type SupervisedProcessObservation } from '@drover/service-kit';

export type EmulatorsObservation =
  | {
      readonly kind: 'emulators.ready';
      /** Service and address, as in `blobs on 127.0.0.1:10000`. */
      readonly serving: readonly string[];
      /** The same for emulators that were running already. */
      readonly borrowed: readonly string[];
      readonly dataDirectory: string;
      readonly page: string | undefined;
    }
  | { readonly kind: 'emulators.blocked'; readonly endpoint: string; readonly reason: string }
  | { readonly kind: 'emulators.taken-over'; readonly endpoint: string }
  | { readonly kind: 'emulators.warning'; readonly sentence: string };

export const emulatorsReaders: Readers<EmulatorsObservation> = {
  'emulators.ready': {
    level: 'info',
    say: ({ serving, borrowed, dataDirectory, page }) =>
      `emulators for this application: ${[...serving, ...borrowed.map((one) => `${one} (already running)`)].join(', ')}${
        serving.length > 0 ? `; data in ${dataDirectory}` : ''
      }${page === undefined ? '' : `; page ${page}`}`,
  },
  'emulators.blocked': {
    level: 'error',
    say: ({ endpoint, reason }) => `no emulator for ${endpoint}: ${reason}`,
  },
  'emulators.taken-over': {
    level: 'info',
    say: ({ endpoint }) => `the emulator that answered before has ended; this one serves ${endpoint} now`,
  },
  'emulators.warning': { level: 'warn', say: ({ sentence }) => sentence },
};

/** What a runtime observes of emulators that it has started by itself. */
export type OwnEmulatorsObservation =
  | SupervisedProcessObservation
  | { readonly kind: 'emulators.said'; readonly severity: 'debug' | 'info' | 'warn' | 'error'; readonly text: string }
  | { readonly kind: 'emulators.failed'; readonly reason: string };

export const ownEmulatorsReaders: Readers<OwnEmulatorsObservation> = {
  ...supervisedProcessReaders,
  'emulators.said': { level: ({ severity }) => severity, say: ({ text }) => text },
  'emulators.failed': { level: 'error', say: ({ reason }) => reason },
};
