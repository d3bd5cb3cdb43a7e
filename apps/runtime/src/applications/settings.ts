/**
 * The settings of one app: what its file and its environment say. Names are compared as the original does, without regard to
 * case and with `:` the same as `__`; among names that are then the same, the one spelled as asked for wins.
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

  /** True for `true` and `1`, which is how a setting says yes. */
  isOn(name: string): boolean {
    const value = this.get(name)?.trim().toLowerCase();
    return value === 'true' || value === '1';
  }

  /** Settings named `<name>__…`, under the rest of their names: a connection may be such a section. */
  section(name: string): Readonly<Record<string, string>> {
    const prefix = fold(`${name}__`);
    const found: Record<string, string> = Object.create(null);
    for (const [full, value] of Object.entries(this.#values))
      if (fold(full).startsWith(prefix)) found[full.replaceAll(':', '__').slice(prefix.length)] = value;
    return found;
  }

  /** All of them, as a worker gets them for its environment. */
  toEnvironment(): Readonly<Record<string, string>> {
    return this.#values;
  }
}

function fold(name: string): string {
  return name.replaceAll(':', '__').toLowerCase();
}
