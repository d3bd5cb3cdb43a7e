import { readFile } from 'node:fs/promises';
import { newApiKey, parseApiKey } from '@drover/collection-engine';
import type { Lifecycle, Randomness } from '@drover/service-kit';
import type { DataDirectory } from './data-directory.js';

export interface Credentials {
  readonly url: string;
  readonly apiKey: string;
}

/** Reads `credentials.json`; returns undefined if it is missing or invalid. */
export async function readCredentials(file: string): Promise<Credentials | undefined> {
  try {
    const content: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (typeof content !== 'object' || content === null || !('apiKey' in content) || !('url' in content))
      return undefined;
    const { apiKey, url } = content;
    return typeof apiKey === 'string' && typeof url === 'string' && parseApiKey(apiKey) ? { url, apiKey } : undefined;
  } catch {
    return undefined;
  }
}

/** The file with the admin key of this installation, which is created at the first start. */
export class CredentialsFile implements Lifecycle {
  readonly name = 'credentials';
  readonly #directory: DataDirectory;
  readonly #randomness: Randomness;
  #credentials: Credentials | undefined;

  constructor(directory: DataDirectory, randomness: Randomness) {
    this.#directory = directory;
    this.#randomness = randomness;
  }

  async start(): Promise<void> {
    this.#credentials = await readCredentials(this.#directory.credentials);
    if (!this.#credentials) await this.#write({ url: '', apiKey: newApiKey(this.#randomness).text.reveal() });
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  /** Records the public URL, which is known only once the platform is ready. */
  async setUrl(url: string): Promise<void> {
    if (this.#credentials && this.#credentials.url !== url) await this.#write({ ...this.#credentials, url });
  }

  async #write(credentials: Credentials): Promise<void> {
    await this.#directory.writePrivately(this.#directory.credentials, `${JSON.stringify(credentials)}\n`);
    this.#credentials = credentials;
  }
}
