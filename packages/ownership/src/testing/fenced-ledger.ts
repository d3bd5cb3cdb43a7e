import type { Database } from '@drover/database';

/** A table that replicas write to under their fencing tokens, as an execution store does. */
export async function makeLedger(database: Database): Promise<void> {
  await database.query(
    `create table drover.fenced_ledger (
       number bigserial primary key, partition integer not null, token bigint not null, replica text not null)`,
  );
}

/** Returns false, and writes nothing, when the token is not the partition's any more. */
export async function writeFenced(
  database: Database,
  entry: { readonly partition: number; readonly token: number; readonly replicaId: string },
): Promise<boolean> {
  const rows = await database.query(
    `with fence as (select token from drover.execution_homes where partition = $1 and token = $2 for share)
     insert into drover.fenced_ledger (partition, token, replica) select $1, token, $3 from fence returning number`,
    [entry.partition, entry.token, entry.replicaId],
  );
  return rows.length > 0;
}

/** Returns what must never happen: a token with two writers, or an older token that wrote after a newer one. */
export async function violationsIn(database: Database): Promise<readonly object[]> {
  return database.query(
    `select 'two writers' as problem, partition, token from drover.fenced_ledger
       group by partition, token having count(distinct replica) > 1
     union all
     select 'went back', partition, token from (
       select partition, token, max(token) over (partition by partition order by number) as newest from drover.fenced_ledger
     ) as entries where token < newest`,
  );
}
