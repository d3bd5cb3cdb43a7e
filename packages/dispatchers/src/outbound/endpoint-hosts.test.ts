import { describe, expect, it } from 'vitest';
import { EndpointHosts } from './endpoint-hosts.js';
import { endpointVariables } from '../variables.js';

describe('EndpointHosts', () => {
  it('allow names, whole or by their ending', () => {
    const hosts = EndpointHosts.parse('Functions.internal, *.svc.cluster.local ,db.internal:8080,');
    for (const name of ['functions.internal', 'FUNCTIONS.internal.', 'a.svc.cluster.local', 'a.b.svc.cluster.local.'])
      expect(hosts.allowsName(name, 80)).toBe(true);
    for (const name of ['svc.cluster.local', 'xsvc.cluster.local', 'a.functions.internal', 'internal', 'db.internal'])
      expect(hosts.allowsName(name, 80)).toBe(false);
    expect(hosts.allowsName('db.internal', 8_080)).toBe(true);
  });

  it('allow addresses and ranges, with a port or any', () => {
    const hosts = EndpointHosts.parse(
      '10.1.0.0/16,192.168.1.7:9000,::1,fd00::/8,[fe80::1]:80,[fc00::/16]:81,[fc01::]/16:82',
    );
    const allowed: [string, number][] = [
      ['10.1.2.3', 1],
      ['::ffff:10.1.2.3', 1],
      ['192.168.1.7', 9_000],
      ['::1', 443],
      ['fdab::1', 443],
      ['fe80::1', 80],
      ['fc00::9', 81],
      ['fc01::9', 82],
    ];
    const others: [string, number][] = [
      ['10.2.0.1', 1],
      ['192.168.1.7', 80],
      ['192.168.1.8', 9_000],
      ['::2', 443],
      ['fe80::1', 81],
      ['fe80::2', 80],
      ['fc00::9', 82],
      ['fc01::9', 81],
    ];
    expect(allowed.filter(([address, port]) => !hosts.allowsAddress(address, port))).toEqual([]);
    expect(others.filter(([address, port]) => hosts.allowsAddress(address, port))).toEqual([]);
  });

  it('allow this machine by the word loopback, on every port or one', () => {
    for (const [text, port] of [
      ['loopback', 1],
      ['Loopback:8080', 8_080],
    ] as const) {
      const hosts = EndpointHosts.parse(text);
      for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])
        expect(hosts.allowsAddress(address, port)).toBe(true);
      for (const address of ['0.0.0.0', '::', '169.254.169.254', '10.0.0.1'])
        expect(hosts.allowsAddress(address, port)).toBe(false);
      expect(hosts.allowsName('loopback', port)).toBe(false);
    }
    expect(EndpointHosts.parse('loopback:8080').allowsAddress('127.0.0.1', 8_081)).toBe(false);
  });

  it.each([
    ['http://a.test'],
    ['a.test/path'],
    ['a b'],
    ['*'],
    ['a.*.test'],
    ['*.'],
    ['10.0.0.0/33'],
    ['fd00::/129'],
    ['10.0.0.1:0'],
    ['10.0.0.1:65536'],
    ['name/8'],
    ['loopback/8'],
    ['0x7f.1'],
    ['2130706433'],
    ['127.1'],
    ['[::1'],
    ['::1]:80'],
    [':80'],
    ['user@host'],
  ])('%s is none, and the variable says so', (entry) => {
    expect(() => EndpointHosts.parse(`ok.test,${entry}`)).toThrow(`"${entry}" is not a host: write`);
    expect(() => endpointVariables.endpointHosts.read({ DROVER_ENDPOINT_HOSTS: entry })).toThrow(
      'DROVER_ENDPOINT_HOSTS: "',
    );
  });

  it('are none unless told', () => {
    const hosts = endpointVariables.endpointHosts.read({});
    expect(hosts.allowsAddress('10.0.0.1', 80) || hosts.allowsName('localhost', 80)).toBe(false);
  });
});
