/** The URL of this replica, known once its HTTP port listens. A configured URL takes precedence. */
export class ReplicaAddress {
  readonly #configured: string | undefined;
  #listening: string | undefined;

  constructor(configured: string | undefined) {
    this.#configured = configured;
  }

  /** Records where the port listens. */
  listensAt(url: string): void {
    this.#listening = url;
  }

  /** Throws before the port listens. */
  get url(): string {
    const url = this.#configured ?? this.#listening;
    if (url === undefined) throw new Error('the URL of this replica is not known before its HTTP port listens');
    return url;
  }
}
