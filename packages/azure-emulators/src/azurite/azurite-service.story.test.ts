import { TableClient, AzureNamedKeyCredential } from '@azure/data-tables';
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob';
import { Child, eventually, isAlive, withScratchDirectory } from '@drover/testkit';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { developmentAccount } from '../queues/authorize.js';
import { AzuriteService } from './azurite-service.js';

const { name, key } = developmentAccount;
const blobs = (port: number): BlobServiceClient =>
  new BlobServiceClient(`http://127.0.0.1:${port}/${name}`, new StorageSharedKeyCredential(name, key), {
    retryOptions: { maxTries: 3, retryDelayInMs: 50 },
  });

describe('blobs and tables by Azurite', () => {
  it('start with the first connection, survive a kill, and keep their data', () =>
    withScratchDirectory(async (dataDirectory) => {
      const warnings: string[] = [];
      const start = () =>
        AzuriteService.start({ kind: 'blob', dataDirectory, warn: (text) => void warnings.push(text) });
      const service = await start();
      expect(service.state).toBe('waiting');
      const container = blobs(service.port).getContainerClient('photos');
      await container.create();
      const bytes = Buffer.alloc(3_000_000, 'photo');
      await container.getBlockBlobClient('one').upload(bytes, bytes.length);
      expect(service.state).toBe('running');
      const { pid = 0 } = service;
      await service.stop();
      expect(isAlive(pid)).toBe(false);

      const again = await start();
      const copy = () => blobs(again.port).getContainerClient('photos').getBlobClient('one').downloadToBuffer();
      expect((await copy()).equals(bytes)).toBe(true);
      const killed = again.pid ?? 0;
      process.kill(killed, 'SIGKILL');
      await eventually(() => again.state === 'waiting');
      expect((await copy()).equals(bytes)).toBe(true);
      expect(again.pid).not.toBe(killed);
      expect(warnings).toEqual(['The blob service of Azurite ended (SIGKILL). The next request starts it again.']);
      await again.stop();
    }));

  it('ends with a process that is killed with kill -9', () =>
    withScratchDirectory(async (directory) => {
      const program = path.resolve(import.meta.dirname, '../../dist/azurite/testing/azurite-service-process.js');
      const child = new Child(process.execPath, [program, directory], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
      const port = Number((await child.line(/^port \d+$/)).slice(5));
      const table = new TableClient(
        `http://127.0.0.1:${port}/${name}`,
        'rows',
        new AzureNamedKeyCredential(name, key),
        {
          allowInsecureConnection: true,
        },
      );
      await table.createTable();
      await table.createEntity({ partitionKey: 'p', rowKey: 'r', value: 1 });
      expect(await table.getEntity('p', 'r')).toMatchObject({ value: 1 });
      const pid = Number((await child.line(/^azurite \d+$/)).slice(8));
      expect(isAlive(pid)).toBe(true);
      child.kill('SIGKILL');
      await child.exited;
      await eventually(() => !isAlive(pid));
    }));

  it('tells a client why Azurite does not start', () =>
    withScratchDirectory(async (directory) => {
      const warnings: string[] = [];
      const dataDirectory = path.join(directory, 'file');
      await (await import('node:fs/promises')).writeFile(dataDirectory, 'not a directory');
      const service = await AzuriteService.start({
        kind: 'blob',
        dataDirectory,
        warn: (text) => void warnings.push(text),
      });
      const response = await fetch(`http://127.0.0.1:${service.port}/`);
      expect(response.status).toBe(503);
      expect(await response.text()).toMatch(/EEXIST|ENOTDIR/);
      expect(warnings[0]).toMatch(/^The blob service is unavailable\./);
      expect(service.state).toBe('waiting');
      await service.stop();
    }));
});
