import path from 'node:path';
import type { RuntimeKeyedFunction, RuntimeKeys } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { servedFunctions } from '../up/served-functions.js';
import type { UpReport } from '../up/start-steps.js';
import { renderBanner } from './banner.js';

const url = 'http://127.0.0.1:7070';

function http(name: string, route: string, options: Partial<NonNullable<RuntimeKeyedFunction['http']>> = {}) {
  const defaults = { path: route, methods: ['GET'], authLevel: 'anonymous' as const };
  return { name, trigger: 'httpTrigger', isDisabled: false, http: { ...defaults, ...options }, keys: [] };
}

function keysOf(functions: readonly RuntimeKeyedFunction[], requiresKeys = true): RuntimeKeys {
  const hostKeys = [{ name: 'default', value: 'host-key' }];
  return { applications: [{ name: 'default/shop', requiresKeys, hostKeys, functions }] };
}

function banner(keys: RuntimeKeys | undefined, applications = ['shop'], problems: UpReport['problems'] = []): string {
  const report = {
    urls: { public: url },
    pids: {},
    credentialsFile: path.resolve('.drover/credentials.json'),
    applications,
    functions: keys ? servedFunctions(keys, url) : [],
    problems,
  };
  return renderBanner(report, keys);
}

describe('the banner of drover up', () => {
  it('starts with the line that programs look for', () => {
    expect(banner(undefined, []).trimStart().split('\n')[0]).toBe(`Drover is up: ${url}`);
  });

  it('names the page of the emulators when an application has any', () => {
    expect(banner(undefined)).not.toContain('  emulators  ');
    const report = { urls: {}, pids: {}, credentialsFile: 'c', applications: [], functions: [], problems: [] };
    const page = 'http://localhost:10003/';
    expect(renderBanner({ ...report, emulatorsPage: page }, undefined)).toContain(`  emulators    ${page}\n`);
  });

  it('shows methods and real URLs, whatever the route prefix is', () => {
    const shown = banner(
      keysOf([
        http('hello', 'api/hello/{name?}', { methods: ['GET', 'POST'] }),
        http('orders', 'orders/{id}'),
        http('any', 'v2/any', { methods: [] }),
        { name: 'pack', trigger: 'queueTrigger', isDisabled: false, http: undefined, keys: [] },
      ]),
    );
    expect(shown).toContain(
      [
        '  app          shop',
        `    hello   GET,POST    ${url}/api/hello/{name?}`,
        `    orders  GET         ${url}/orders/{id}`,
        `    any     any method  ${url}/v2/any`,
        '    pack    queueTrigger',
      ].join('\n'),
    );
    expect(shown).not.toContain('key)');
  });

  it('shows why an application is not served', () => {
    const shown = banner(
      undefined,
      ['shop', 'bills'],
      [{ application: 'bills', problem: 'its workers die:\nno module' }],
    );
    expect(shown).toContain('  app          bills is not served: its workers die:\n    no module\n');
    expect(shown).not.toContain('shop is not served');
  });

  it('shows the key where a function needs one', () => {
    const shown = banner(keysOf([http('locked', 'api/locked', { authLevel: 'function' })]));
    expect(shown).toContain(`    locked  GET  ${url}/api/locked  (key)\n`);
    expect(shown).toContain('    (key): send "x-functions-key: host-key", or add ?code=host-key');
  });

  it('shows that keys are off, and no key', () => {
    const shown = banner(keysOf([http('locked', 'api/locked', { authLevel: 'function' })], false));
    expect(shown).toContain('Function keys are off');
    expect(shown).not.toContain('host-key');
  });

  it('shows why a function cannot be called', () => {
    const shown = banner(
      keysOf([
        http('taken', 'v1/taken'),
        http('probe', 'healthz'),
        { ...http('off', 'api/off'), isDisabled: true },
        { ...http('second', ''), http: undefined },
      ]),
    );
    expect(shown).toContain('taken   not reachable: /v1/taken is a path of the platform; choose another routePrefix\n');
    expect(shown).toContain('probe   not reachable: /healthz is a path of the platform; choose another routePrefix\n');
    expect(shown).toContain('off     disabled\n');
    expect(shown).toContain('second  not reachable: another application has the same route\n');
  });

  it('names an application without a function to run, and bounds the list of the others', () => {
    const many = Array.from({ length: 60 }, (_, index) => http(`f${index}`, `api/f${index}`));
    const shown = banner(keysOf(many), ['shop', 'broken']);
    expect(shown).toContain('    … and 10 more\n');
    expect(shown).not.toContain('api/f50');
    expect(shown).toContain('  app          broken: has no function to run; the log has the reason\n');
  });
});
