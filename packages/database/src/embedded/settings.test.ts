import { describe, expect, it } from 'vitest';
import { recoverySync, serverArguments, sharedBuffers } from './settings.js';

const gigabyte = 1024 ** 3;
const usual = {
  cluster: '/d/cluster',
  clusterName: 'drover-1',
  socketDirectory: '/d/run',
  memoryBytes: 8 * gigabyte,
  system: { platform: 'linux', release: '6.1.0-18-amd64' },
};

describe('settings', () => {
  it('takes 128 MB for shared buffers, less on a small machine, and never too little to start', () => {
    expect(sharedBuffers(64 * gigabyte)).toBe('128MB');
    expect(sharedBuffers(gigabyte / 2)).toBe('64MB');
    expect(sharedBuffers(1)).toBe('16MB');
  });

  it('opens no port and keeps commits durable', () => {
    const args = serverArguments({ ...usual, settings: {} });
    expect(args.slice(0, 2)).toEqual(['-D', '/d/cluster']);
    for (const setting of ['listen_addresses=', 'fsync=on', 'synchronous_commit=on', 'unix_socket_permissions=0700']) {
      expect(args).toContain(setting);
    }
  });

  it.each([
    ['linux', '6.1.0-18-amd64', 'syncfs'],
    ['linux', '5.8.0', 'syncfs'],
    ['linux', '5.4.0-150-generic', 'fsync'],
    ['linux', 'unknown', 'fsync'],
    ['darwin', '23.5.0', 'fsync'],
  ])(
    'syncs the whole file system before recovery only where failures are reported: %s %s',
    (platform, release, how) => {
      expect(recoverySync({ platform, release })).toBe(how);
    },
  );

  it('lets the caller outrank our choices, but not what we rely on', () => {
    const args = serverArguments({ ...usual, settings: { max_connections: '20', listen_addresses: '*', port: '1' } });
    expect(args).toContain('max_connections=20');
    expect(args).not.toContain('max_connections=200');
    expect(args).toContain('listen_addresses=');
    expect(args).toContain('port=5432');
  });

  it('quotes the socket directory, since the setting is a list', () => {
    const args = serverArguments({ ...usual, socketDirectory: '/a,b/"c"', settings: {} });
    expect(args).toContain('unix_socket_directories="/a,b/""c"""');
  });
});
