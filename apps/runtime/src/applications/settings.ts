/**
 * The settings of one app, from its file and its environment. As in the official host, names are case-insensitive and `:` equals
 * `__`. If several names are equal, an exact match takes precedence.
 */
export class Settings {
  readonly #values: Readonly<Record<string, string>>;
  readonly #byFoldedName = new Map<string, string>();

  constructor(values: Readonly<Record<string, string | undefined>>) {
    const kept: Record<string, string> = Object.create(null);
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined) continue;
      kept[name] = value;
      this.#byFoldedName.set(fold(name), value);
    }
    this.#values = Object.freeze(kept);
  }

  get(name: string): string | undefined {
    return this.#values[name] ?? this.#byFoldedName.get(fold(name));
  }

  /** True if the value is `true` or `1`. */
  isOn(name: string): boolean {
    const value = this.get(name)?.trim().toLowerCase();
    return value === 'true' || value === '1';
  }

  /** Returns the settings named `<name>__…` by the rest of their name. A connection can be such a section. */
  section(name: string): Readonly<Record<string, string>> {
    const prefix = fold(`${name}__`);
    const found: Record<string, string> = Object.create(null);
    for (const [full, value] of Object.entries(this.#values))
      if (fold(full).startsWith(prefix)) found[full.replaceAll(':', '__').slice(prefix.length)] = value;
    return found;
  }

  /** All settings, as the environment of a worker. */
  toEnvironment(): Readonly<Record<string, string>> {
    return this.#values;
  }
}

function fold(name: string): string {
  return name.replaceAll(':', '__').toLowerCase();
}
