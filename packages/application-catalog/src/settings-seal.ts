import { SealingKey, type Randomness, type Secret, type UnsealProblem } from '@drover/service-kit';
import type { ApplicationAddress } from './application-catalog.js';
import { applicationSettingsNeedKey, applicationSettingsUnreadable } from './errors.js';

/** The version that owns settings: ciphertext copied to another one does not decrypt there. */
export interface SettingsOwner extends ApplicationAddress {
  readonly codeVersion: string;
}

const reasons: Readonly<Record<UnsealProblem, string>> = {
  'unknown-format': 'the stored value has an unknown format; it was written by a newer release',
  'another-key': 'they were encrypted with another key than DROVER_SECRETS_KEY',
  changed: 'the stored value was changed or belongs to another version',
};

/** Encrypts the settings of applications at rest. */
export class SettingsSeal {
  readonly #key: SealingKey | undefined;

  constructor(secret: Secret | undefined, randomness: Pick<Randomness, 'bytes'>) {
    this.#key = secret && new SealingKey(secret, 'drover application settings', randomness);
  }

  /** Returns null for no settings, which need no key. Throws APPLICATION_SETTINGS_NEED_KEY. */
  seal(owner: SettingsOwner, settings: Readonly<Record<string, string>>): Buffer | null {
    if (Object.keys(settings).length === 0) return null;
    if (!this.#key) throw applicationSettingsNeedKey(owner);
    return this.#key.seal(partsOf(owner), JSON.stringify(settings));
  }

  /** Throws APPLICATION_SETTINGS_UNREADABLE. */
  unseal(owner: SettingsOwner, sealed: Buffer | null): Readonly<Record<string, string>> {
    if (!sealed) return {};
    const fail = (reason: string, cause?: unknown): Error =>
      applicationSettingsUnreadable({ applicationId: owner.applicationId, version: owner.codeVersion, reason }, cause);
    if (!this.#key) throw fail('DROVER_SECRETS_KEY is not set');
    const opened = this.#key.unseal(partsOf(owner), sealed);
    if ('problem' in opened) throw fail(reasons[opened.problem], opened.cause);
    return JSON.parse(opened.text) as Record<string, string>; // authenticated: we wrote it
  }

  /**
   * Hashes settings for the version that they are part of. Versions are shown, so values must not be guessed from them: hence the key.
   * Without a key only names and lengths count; such settings are never stored.
   */
  fingerprint(settings: Readonly<Record<string, string>>): string {
    const sorted = Object.entries(settings).toSorted(([a], [b]) => (a < b ? -1 : 1));
    if (this.#key) return this.#key.fingerprint(JSON.stringify(sorted));
    return JSON.stringify(sorted.map(([name, value]) => [name, value.length]));
  }
}

function partsOf({ tenantId, applicationId, codeVersion }: SettingsOwner): readonly unknown[] {
  return [tenantId, applicationId, codeVersion];
}
