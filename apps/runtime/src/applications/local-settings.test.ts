import { describe, expect, it } from 'vitest';
import { mergeSettings, parseLocalSettings } from './local-settings.js';
import { Settings } from './settings.js';

describe('parseLocalSettings', () => {
  it('reads values, connection strings, port and origins', () => {
    const text = `{ "IsEncrypted": false,
      "Values": { "FUNCTIONS_WORKER_RUNTIME": "node", "Limit": 5, "On": true, "None": null },
      "Host": { "LocalHttpPort": 7072, "CORS": "https://a.example, https://b.example/", "CORSCredentials": true },
      "ConnectionStrings": { "Db": "Server=x" } } // comment`;
    expect(parseLocalSettings(text)).toEqual({
      values: { FUNCTIONS_WORKER_RUNTIME: 'node', Limit: '5', On: 'true', ConnectionStrings__Db: 'Server=x' },
      httpPort: 7072,
      cors: { origins: ['https://a.example', 'https://b.example'], allowsCredentials: true },
      problems: [],
    });
  });

  it('is content without a file', () => {
    expect(parseLocalSettings(undefined)).toEqual({ values: {}, httpPort: undefined, cors: undefined, problems: [] });
  });

  it.each([
    ['{"IsEncrypted":true,"Values":{"A":"zzz"}}', 'is encrypted'],
    ['{"Values":[]}', 'Values must be an object'],
    ['{"Values":{"A":{"b":1}}}', 'Values.A must be a string'],
    ['{"Host":{"LocalHttpPort":"abc"}}', 'Host.LocalHttpPort must be a port'],
    ['{"Host":{"CORS":["*"]}}', 'Host.CORS must be a string'],
    ['{"Host":{"CORS":"*","CORSCredentials":true}}', 'no effect'],
    ['[]', 'must be an object'],
    ['{', 'is not valid JSON'],
  ])('says what is wrong with %s', (text, problem) => {
    const { problems } = parseLocalSettings(text);
    expect(problems).toMatchObject([{ file: 'local.settings.json', problem: expect.stringContaining(problem) }]);
  });

  it('yields to the real environment', () => {
    const { values } = parseLocalSettings('{"Values":{"A":"file","B":"file","__proto__":"x"}}');
    const settings = new Settings(mergeSettings(values, { A: 'env', C: undefined }));
    expect([settings.get('A'), settings.get('B'), settings.get('C')]).toEqual(['env', 'file', undefined]);
    expect({}).not.toHaveProperty('x');
  });
});

describe('Settings', () => {
  const settings = new Settings({
    Storage: 'exact',
    STORAGE: 'loud',
    'Conn:queueServiceUri': 'https://q',
    CONN__credential: 'managed',
    Off: 'FALSE',
    On: ' True ',
    One: '1',
  });

  it('finds names in any case, the exact one first', () => {
    expect([settings.get('Storage'), settings.get('STORAGE')]).toEqual(['exact', 'loud']);
    expect(settings.get('conn__QUEUESERVICEURI')).toBe('https://q');
    expect(settings.get('toString')).toBeUndefined();
    expect(settings.get('__proto__')).toBeUndefined();
  });

  it('gathers the settings of a section', () => {
    expect({ ...settings.section('conn') }).toEqual({ queueServiceUri: 'https://q', credential: 'managed' });
  });

  it('knows what counts as yes', () => {
    expect(['On', 'One', 'Off', 'Missing', 'Storage'].map((name) => settings.isOn(name))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});
