import { chooseServerUser, Database, findBinaries, isRoot, readUsers, schemaVersions } from '@drover/database';
import { systemClock, systemRandomness, type Secret } from '@drover/service-kit';
import { bad, good, type Finding } from './finding.js';

/** The server that `DATABASE_URL` names: there, new enough, and ours to use. */
export async function checkForeignDatabase(url: Secret): Promise<Finding> {
  const database = new Database({
    url,
    applicationName: 'drover doctor',
    poolSize: 2,
    clock: systemClock,
    randomness: systemRandomness,
    observe: () => undefined,
  });
  try {
    await database.start();
    const [rights] = await database.query<{ create: boolean; schema: boolean }>(
      `select has_database_privilege(current_database(), 'create') as create, to_regclass('drover.migrations') is not null as schema`,
    );
    const where = `PostgreSQL ${database.serverVersion} at ${database.settings.server}`;
    if (!rights?.schema && !rights?.create) {
      return bad(
        'database',
        `${where}: this user may not create a schema`,
        'GRANT CREATE ON DATABASE … TO the user of DATABASE_URL',
      );
    }
    const versions = rights.schema ? Object.entries(await schemaVersions(database)) : [];
    const schema =
      versions.length === 0 ? 'not used by Drover yet' : versions.map(([name, n]) => `${name} ${n}`).join(', ');
    return good('database', `${where}, ${schema}`);
  } catch (error) {
    return bad('database', error instanceof Error ? error.message : String(error), 'as it says');
  } finally {
    await database.stop();
  }
}

/** The embedded server: binaries for this machine, and somebody to run it. */
export async function checkEmbeddedDatabase(serverUser: string | undefined): Promise<Finding> {
  try {
    const { version, packageName } = findBinaries();
    const user = isRoot() ? `, runs as ${chooseServerUser(await readUsers(), serverUser).name}` : '';
    return good('database', `embedded PostgreSQL ${version} from ${packageName}${user}`);
  } catch (error) {
    return bad('database', error instanceof Error ? error.message : String(error), 'as it says');
  }
}
