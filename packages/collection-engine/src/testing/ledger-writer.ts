import { Database } from '@drover/database';
import { quietIo } from '@drover/database/testing';
import { Secret } from '@drover/service-kit';
import type { StoredCollection } from '../model/collection-model.js';
import { compileCollection } from '../model/compile-collection.js';
import { createRecords } from '../operations/create-records.js';
import { deleteRecord } from '../operations/delete-records.js';
import { updateRecord } from '../operations/update-records.js';
import type { RecordOperation } from '../request/record-operation.js';
import type { RecordAnswer } from '../request/record-context.js';
import { testContext, testDependencies, testRequest } from './record-requests.js';

/**
 * A program that writes records until it is killed, and prints every write that was acknowledged: kind, id and version. What fails,
 * because the server is away, is not printed, and the writer goes on.
 */
const [url = '', ...stored] = process.argv.slice(2);
const collections = stored.map((each) => compileCollection(JSON.parse(each) as StoredCollection)); // of the story that starts it
const database = new Database({ url: new Secret(url), applicationName: 'ledger', poolSize: 8, ...quietIo });
const dependencies = testDependencies(database, collections);
const writersPerCollection = 6;

async function write(at: number, writer: number): Promise<void> {
  const collection = collections[at];
  if (!collection) return;
  const call = async (operation: RecordOperation, id: string | undefined, body: unknown): Promise<RecordAnswer> =>
    operation(
      testContext({ shape: 'flat' }),
      collection,
      testRequest({ id, body: Buffer.from(JSON.stringify(body)) }),
      dependencies,
    );
  const acknowledged = (kind: string, id: string, version: number): boolean =>
    process.stdout.write(`${kind} ${id} ${version}\n`);
  for (let round = 0; ; round += 1) {
    try {
      const { body } = await call(createRecords, undefined, { name: `${process.pid} ${writer} ${round}` });
      const { id } = JSON.parse(body as string) as { id: string }; // of one record
      acknowledged('created', id, 1);
      for (const version of [2, 3]) {
        await call(updateRecord, id, { count: version });
        acknowledged('updated', id, version);
      }
      if (round % 3 > 0) continue;
      await call(deleteRecord, id, {});
      acknowledged('deleted', id, 4);
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20)); // the server restarts
    }
  }
}

await Promise.all(
  collections.flatMap((_, at) => Array.from({ length: writersPerCollection }, (__, writer) => write(at, writer))),
);
