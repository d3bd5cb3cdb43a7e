import { afterAll, expect } from 'vitest';

const secrets = new Map<string, string>();
const seen: { readonly where: string; readonly text: string }[] = [];

/** Registers a secret that must not appear anywhere from now on. */
export function keepSecret(name: string, value: string): void {
  secrets.set(value, name);
}

/** An answer or a log line, kept to be searched at the end. */
export function see(where: string, text: string): void {
  seen.push({ where, text });
}

/**
 * Call once in a test file, before its other hooks, so that this one runs last: when all is over, none of the secrets was
 * in an answer or a log line.
 */
export function leavesNoSecretBehind(): void {
  afterAll(() => {
    expect(seen.length).toBeGreaterThan(0);
    expect(secrets.size).toBeGreaterThan(0);
    const leaks = seen.flatMap(({ where, text }) =>
      [...secrets].filter(([secret]) => text.includes(secret)).map(([, name]) => `${name} in ${where}: ${text}`),
    );
    expect(leaks).toEqual([]);
  });
}
