import { chooseServerUser, Database, findBinaries, isRoot, readUsers, schemaVersions } from '@drover/database';
import { systemClock, systemRandomness, type Secret } from '@drover/service-kit';
import { bad, good, type Finding } from './finding.js';

const externalNext = 'Correct DATABASE_URL or the server, or unset DATABASE_URL to use the embedded PostgreSQL.';
const embeddedNext = 'Or set DATABASE_URL to an existing PostgreSQL.';

/** Checks the server that `DATABASE_URL` names: reachable, recent enough, and with the required privileges. */
export async function checkExternalDatabase(url: Secret): Promise<Finding> {
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
        `${where}: the user of DATABASE_URL may not create a schema.`,
        'Run GRANT CREATE ON DATABASE … TO that user.',
      );
    }
    const versions = rights.schema ? Object.entries(await schemaVersions(database)) : [];
    const schema =
      versions.length === 0 ? 'no Drover schema yet' : versions.map(([name, n]) => `${name} ${n}`).join(', ');
    return good('database', `${where}, ${schema}`);
  } catch (error) {
    return bad('database', error instanceof Error ? error.message : String(error), externalNext);
  } finally {
    await database.stop();
  }
}

/** Checks the embedded server: binaries for this platform, and a user that can run it. */
export async function checkEmbeddedDatabase(serverUser: string | undefined): Promise<Finding> {
  try {
    const { version, packageName } = findBinaries();
    const user = isRoot() ? `, runs as user ${chooseServerUser(await readUsers(), serverUser).name}` : '';
    return good('database', `embedded PostgreSQL ${version} from ${packageName}${user}`);
  } catch (error) {
    return bad('database', error instanceof Error ? error.message : String(error), embeddedNext);
  }
}
