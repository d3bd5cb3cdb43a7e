import { describe, expect, it } from 'vitest';
import { embeddedPostgresErrors } from './errors.js';
import { embeddedPostgresReaders as readers } from './observations.js';

describe('what a person reads', () => {
  it('says where the database went and why', () => {
    const said = readers['postgres.moved'].say({
      kind: 'postgres.moved',
      from: '/root/data/postgres',
      to: '/var/lib/drover/1',
      reason: 'PostgreSQL refuses to run as root, and the user postgres cannot access /root (mode 0700)',
    });
    expect(said).toBe(
      'the database is stored in /var/lib/drover/1 instead of /root/data/postgres, because PostgreSQL refuses to run as ' +
        'root, and the user postgres cannot access /root (mode 0700)',
    );
  });

  it('names the signal or exit code of a server that exited', () => {
    const lost = { kind: 'postgres.lost', pid: 7, exitCode: null, signal: 'SIGKILL' } as const;
    expect(readers['postgres.lost'].say(lost)).toBe('PostgreSQL (process 7) exited unexpectedly with SIGKILL');
    expect(readers['postgres.lost'].say({ ...lost, exitCode: 1, signal: null })).toContain('exit code 1');
  });

  it('rounds durations', () => {
    const ready = { kind: 'postgres.ready', pid: 7, durationMs: 312.4 } as const;
    expect(readers['postgres.ready'].say(ready)).toBe('PostgreSQL is ready after 0.3 s (process 7)');
  });

  it('has a code of its own family and help for every error', () => {
    for (const definition of Object.values(embeddedPostgresErrors)) {
      expect(definition.code).toMatch(/^EMBEDDED_POSTGRES_[A-Z_]+$/);
      expect(definition.help.length).toBeGreaterThan(20);
    }
  });
});
