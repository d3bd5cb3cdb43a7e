import { describe, expect, it } from 'vitest';
import { checkConfiguration, unknownVariables } from './configuration-check.js';

describe('unknownVariables', () => {
  it('finds a misspelt variable and says what was meant', () => {
    expect(unknownVariables({ DROVER_PROT: '1', DROVER_PORT: '2', PATH: '/bin', DATABASE_URL_FILE: 'x' })).toEqual([
      { name: 'DROVER_PROT', meant: 'DROVER_PORT' },
    ]);
  });

  it('offers nothing when nothing is near', () => {
    expect(unknownVariables({ DROVER_COMPLETELY_DIFFERENT_THING: '1' })).toEqual([
      { name: 'DROVER_COMPLETELY_DIFFERENT_THING', meant: undefined },
    ]);
  });
});

describe('checkConfiguration', () => {
  it('turns every problem into a finding with a next step', () => {
    const { config, findings } = checkConfiguration({ DROVER_PORT: 'x', DATABASE_URL: 'nonsense' });
    expect(config).toBeUndefined();
    expect(findings.map(({ verdict }) => verdict)).toEqual(['bad', 'bad']);
    for (const finding of findings) expect(finding.next).toBeDefined();
  });

  it('is content with an empty environment', () => {
    expect(checkConfiguration({})).toMatchObject({ config: { port: 7070 }, findings: [{ verdict: 'good' }] });
  });
});
