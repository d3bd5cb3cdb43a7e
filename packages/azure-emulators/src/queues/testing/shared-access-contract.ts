import {
  AccountSASPermissions,
  generateAccountSASQueryParameters,
  generateQueueSASQueryParameters,
  QueueClient,
  QueueSASPermissions,
  QueueServiceClient,
  SASProtocol,
  StorageSharedKeyCredential,
} from '@azure/storage-queue';
import { expect, it } from 'vitest';
import { developmentAccount } from '../authorize.js';

const key = new StorageSharedKeyCredential(developmentAccount.name, developmentAccount.key);
const options = { retryOptions: { maxTries: 1 } };
const inAnHour = (): Date => new Date(Date.now() + 3_600_000);
const anHourAgo = (): Date => new Date(Date.now() - 3_600_000);
const denied = (code: string) => ({ statusCode: 403, code });

/** What keys and signatures of the official SDK allow. Part of `queuesContract`. */
export function sharedAccessContract(newQueue: () => Promise<QueueClient>, url: () => string): void {
  const accountSas = (permissions: string, more: object = {}): QueueServiceClient => {
    const sas = generateAccountSASQueryParameters(
      {
        permissions: AccountSASPermissions.parse(permissions),
        services: 'q',
        resourceTypes: 'sco',
        expiresOn: inAnHour(),
        ...more,
      },
      key,
    );
    return new QueueServiceClient(`${url()}?${sas.toString()}`, undefined, options);
  };
  const queueSas = (queueName: string, values: object): QueueClient => {
    const sas = generateQueueSASQueryParameters({ queueName, ...values }, key);
    return new QueueClient(`${url()}/${queueName}?${sas.toString()}`, undefined, options);
  };

  it('refuses another key, another account and no signature', async () => {
    const failed = denied('AuthenticationFailed');
    const wrong = new StorageSharedKeyCredential(developmentAccount.name, Buffer.from('another').toString('base64'));
    await expect(new QueueServiceClient(url(), wrong, options).getProperties()).rejects.toMatchObject(failed);
    await expect(new QueueServiceClient(url(), undefined, options).getProperties()).rejects.toMatchObject(failed);
    const other = new StorageSharedKeyCredential('other', developmentAccount.key);
    const elsewhere = new QueueServiceClient(url().replace(developmentAccount.name, 'other'), other, options);
    await expect(elsewhere.getProperties()).rejects.toMatchObject({ statusCode: 404, code: 'ResourceNotFound' });
  });

  it('lets an account signature do what it names', async () => {
    const queue = await newQueue();
    await queue.sendMessage('x');
    const all = accountSas('rwdlacup').getQueueClient(queue.name);
    const [received] = (await all.receiveMessages()).receivedMessageItems;
    await all.updateMessage(received?.messageId ?? '', received?.popReceipt ?? '', 'y', 0);
    await all.clearMessages();
    await all.setMetadata({ by: 'signature' });
    const reader = accountSas('r').getQueueClient(queue.name);
    await reader.peekMessages();
    await reader.getProperties();
    const permission = denied('AuthorizationPermissionMismatch');
    await expect(reader.sendMessage('x')).rejects.toMatchObject(permission);
    await expect(reader.receiveMessages()).rejects.toMatchObject(permission);
    await expect(reader.delete()).rejects.toMatchObject(permission);
    await expect(accountSas('r').listQueues().next()).rejects.toMatchObject(permission);
    await expect(all.getAccessPolicy()).rejects.toMatchObject(permission);
  });

  it('checks service, resource type, time and protocol of an account signature', async () => {
    const { name } = await newQueue();
    const refusals: [object, string][] = [
      [{ services: 'b' }, 'AuthorizationServiceMismatch'],
      [{ resourceTypes: 'c' }, 'AuthorizationResourceTypeMismatch'],
      [{ expiresOn: anHourAgo() }, 'AuthenticationFailed'],
      [{ startsOn: inAnHour(), expiresOn: new Date(Date.now() + 7_200_000) }, 'AuthenticationFailed'],
      [{ protocol: SASProtocol.Https }, 'AuthorizationProtocolMismatch'],
    ];
    for (const [more, code] of refusals) {
      await expect(accountSas('rwdlacup', more).getQueueClient(name).sendMessage('x')).rejects.toMatchObject(
        denied(code),
      );
    }
    for (const more of [{ version: '2019-12-12' }, { startsOn: anHourAgo() }, { protocol: SASProtocol.HttpsAndHttp }]) {
      await accountSas('a', more).getQueueClient(name).sendMessage('x');
    }
  });

  it('lets a queue signature do what it names, in its queue', async () => {
    const [queue, other] = await Promise.all([newQueue(), newQueue()]);
    const values = { permissions: QueueSASPermissions.parse('ap'), expiresOn: inAnHour() };
    const limited = queueSas(queue.name, values);
    await limited.sendMessage('x');
    const [received] = (await limited.receiveMessages()).receivedMessageItems;
    await limited.deleteMessage(received?.messageId ?? '', received?.popReceipt ?? '');
    await expect(limited.peekMessages()).rejects.toMatchObject(denied('AuthorizationPermissionMismatch'));
    await expect(limited.clearMessages()).rejects.toMatchObject(denied('AuthorizationPermissionMismatch'));
    const stolen = new QueueClient(limited.url.replace(queue.name, other.name), undefined, options);
    await expect(stolen.sendMessage('x')).rejects.toMatchObject(denied('AuthenticationFailed'));
    const late = queueSas(queue.name, { ...values, expiresOn: anHourAgo() });
    await expect(late.sendMessage('x')).rejects.toMatchObject(denied('AuthenticationFailed'));
  });

  it('reads the rights of a queue signature from a stored policy', async () => {
    const queue = await newQueue();
    const named = queueSas(queue.name, { identifier: 'sender' });
    await expect(named.sendMessage('x')).rejects.toMatchObject(denied('AuthenticationFailed'));
    const accessPolicy = { startsOn: anHourAgo(), expiresOn: inAnHour(), permissions: 'a' };
    await queue.setAccessPolicy([{ id: 'sender', accessPolicy }]);
    await named.sendMessage('x');
    await expect(named.receiveMessages()).rejects.toMatchObject(denied('AuthorizationPermissionMismatch'));
    await queue.setAccessPolicy([]);
    await expect(named.sendMessage('x')).rejects.toMatchObject(denied('AuthenticationFailed'));
  });
}
