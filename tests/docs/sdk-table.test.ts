import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { renderCompatibility, withCompatibility } from '../sdks/compatibility-table.js';
import type { SuiteResult } from '../sdks/run-suite.js';
import { sdkSuites } from '../sdks/suites.js';

const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

describe('the table of SDKs in the README of the emulators', () => {
  const results = JSON.parse(read('tests/sdks/generated/results.json')) as SuiteResult[]; // written by npm run test:sdks

  it('says what the last complete run found (else: npm run test:sdks)', () => {
    const readme = read('packages/azure-emulators/README.md');
    expect(readme).toBe(withCompatibility(readme, renderCompatibility(results)));
  });

  it('is about the SDKs that are tested now', () => {
    expect(results.map(({ sdk }) => sdk)).toEqual(sdkSuites.map(({ sdk }) => sdk));
  });
});
