import { isCodedError } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { controlPlaneVariables, parseControlPlaneConfig } from './config.js';

const DATABASE_URL = 'postgres://drover:hunter2@db.example/drover';

function problemsOf(environment: Record<string, string>): readonly unknown[] {
  try {
    parseControlPlaneConfig(environment);
  } catch (error) {
    if (!isCodedError(error)) throw error;
    expect(error.code).toBe('CONFIGURATION_INVALID');
    const { problems } = error.details;
    return Array.isArray(problems) ? problems : [];
  }
  return [];
}

describe('parseControlPlaneConfig', () => {
  it('needs nothing but a database', () => {
    const config = parseControlPlaneConfig({ DATABASE_URL });
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 7070,
      bodyLimitBytes: 1_048_576,
      bootstrapKeyFile: undefined,
      eventBus: 'postgres',
      eventRetentionMs: 604_800_000,
      databasePoolSize: 10,
    });
    expect(config.databaseUrl.reveal()).toBe(DATABASE_URL);
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('does not show the password when it is printed', () => {
    expect(JSON.stringify(parseControlPlaneConfig({ DATABASE_URL }))).not.toContain('hunter2');
  });

  it('reports five mistakes at once, each with its variable and what it must be', () => {
    const problems = problemsOf({
      DATABASE_URL: 'mysql://root:hunter2@db/x',
      DROVER_PORT: '70707',
      DROVER_BODY_LIMIT_BYTES: '12',
      EVENT_BUS: 'kafka',
      DROVER_EVENT_RETENTION_MS: 'a week',
    });
    expect(problems).toEqual([
      expect.stringMatching(/^DATABASE_URL begins with mysql:/),
      expect.stringMatching(/^DROVER_PORT is "70707"; it must be a whole number from 0 to 65535/),
      expect.stringMatching(/^DROVER_BODY_LIMIT_BYTES is "12"/),
      expect.stringMatching(/^EVENT_BUS is "kafka"; it must be postgres/),
      expect.stringMatching(/^DROVER_EVENT_RETENTION_MS is "a week"/),
    ]);
    expect(JSON.stringify(problems)).not.toContain('hunter2');
  });

  it('says what to do when there is no database', () => {
    expect(problemsOf({})).toEqual([expect.stringMatching(/^DATABASE_URL is not set; set it, or run "drover up"/)]);
  });

  it('reads the pools of tenants, and names an entry that is none', () => {
    const { tenantPools } = parseControlPlaneConfig({ DATABASE_URL, DROVER_TENANT_POOLS: 'acme=blue, globex = red,' });
    expect([...tenantPools]).toEqual([
      ['acme', 'blue'],
      ['globex', 'red'],
    ]);
    expect(problemsOf({ DATABASE_URL, DROVER_TENANT_POOLS: 'acme=blue,globex' })).toEqual([
      expect.stringMatching(/^DROVER_TENANT_POOLS has the entry "globex"; write tenant=pool/),
    ]);
  });

  it('describes every variable for the documentation', () => {
    for (const { name, about, expects } of Object.values(controlPlaneVariables)) {
      expect(name).toMatch(/^((DROVER|DEFAULT|EXECUTION|SCHEDULER)_[A-Z_]+|DATABASE_URL|EVENT_BUS)$/);
      expect(about).not.toBe('');
      expect(expects).not.toBe('');
    }
  });
});
