import type { Migrations } from '@drover/database';

/**
 * Journal: executions that were accepted and have not ended, many in a row. Archive: executions that have ended, one per row.
 *
 * All writes go through functions that first check that the writer owns the partitions. The order matters: the function takes a shared
 * lock, and reads the fencing token in a later statement, so it reads a token that is current under the lock. A new owner, whose token
 * is raised by then, takes the same lock exclusively for a moment (`await_former_execution_homes`). After that it sees everything that
 * former owners wrote, and nothing more can come from them. A token stays valid until it is raised: `expires_at` is not checked.
 *
 * The text of a migration, its comments included, never changes: databases store its checksum.
 */
export const executionMigrations: Migrations = {
  component: 'executions',
  steps: [
    {
      name: 'journal and archive',
      sql: `
        create table drover.execution_journal (
          partition integer not null,
          -- of the home that wrote it, which also numbers its rows: no two rows ever have the same name
          token bigint not null,
          number bigint not null,
          entries text not null,
          primary key (partition, token, number)
        );
        -- short-lived: compressing costs more than it saves
        alter table drover.execution_journal alter entries set storage external;

        create table drover.executions (
          tenant_id text collate "C" not null,
          execution_id uuid not null,
          partition integer not null,
          function_name text collate "C" not null,
          generation bigint not null,
          status text not null,
          accepted_at timestamptz not null,
          finished_at timestamptz not null,
          expires_at timestamptz not null,
          idempotency_key text collate "C",
          trace_id text collate "C",
          dead_letter boolean not null,
          evicted boolean not null default false,
          redriven_as uuid,
          input text,
          output text,
          -- everything that nobody searches for, as JSON
          rest text not null,
          primary key (tenant_id, execution_id)
        ) with (autovacuum_vacuum_scale_factor = 0.05);
        alter table drover.executions alter input set storage external, alter output set storage external,
          alter rest set storage external;
        -- every index costs every execution; those of the rare kinds cost only them
        create index executions_by_expiry on drover.executions (expires_at);
        create index executions_without_success on drover.executions (tenant_id, execution_id) where status <> 'success';
        create index executions_with_key on drover.executions (tenant_id, idempotency_key) where idempotency_key is not null;

        -- The size of all inputs and outputs is the sum of these. A writer adds to the row of a partition of its own,
        -- whichever: so no two homes wait for each other, and single rows mean nothing.
        create table drover.execution_bytes (partition integer primary key, bytes bigint not null);

        -- Statements without parameters that a planner could make use of, and loops instead of joins: they are planned once.
        create function drover.add_execution_bytes(own_partition integer, more bigint) returns void language plpgsql as $$
        begin
          update drover.execution_bytes set bytes = bytes + more where partition = own_partition;
          if not found then
            insert into drover.execution_bytes as total values (own_partition, more)
            on conflict (partition) do update set bytes = total.bytes + excluded.bytes;
          end if;
        end $$;

        create function drover.lost_execution_homes(partitions integer[], tokens bigint[]) returns integer[]
        language plpgsql as $$
        declare held integer;
        begin
          for i in 1..cardinality(partitions) loop
            -- nearly always free; asked for in this way it takes no statement of its own
            if not pg_try_advisory_xact_lock_shared(1685221750, partitions[i]) then
              perform pg_advisory_xact_lock_shared(1685221750, partitions[i]);
            end if;
          end loop;
          select count(*) into held from drover.execution_homes home
            where home.token = tokens[array_position(partitions, home.partition)];
          if held = cardinality(partitions) then return '{}'; end if;
          return array(
            select claim.partition from unnest(partitions, tokens) as claim (partition, token)
            where not exists (select from drover.execution_homes home where home.partition = claim.partition and home.token = claim.token)
          );
        end $$;

        create function drover.await_former_execution_homes(partitions integer[], tokens bigint[]) returns integer[]
        language plpgsql as $$
        begin
          perform pg_advisory_xact_lock(1685221750, p) from unnest(partitions) p;
          return drover.lost_execution_homes(partitions, tokens);
        end $$;

        create function drover.append_to_execution_journal(
          home_partitions integer[], home_tokens bigint[], tokens bigint[], numbers bigint[], new_entries text[]
        ) returns integer[] language plpgsql as $$
        declare lost integer[] := drover.lost_execution_homes(home_partitions, home_tokens);
        begin
          if cardinality(lost) = 0 then
            insert into drover.execution_journal (partition, token, number, entries)
              select * from unnest(home_partitions, tokens, numbers, new_entries);
          end if;
          return lost;
        end $$;

        create function drover.trim_execution_journal(partitions integer[], tokens bigint[], numbers bigint[])
        returns void language plpgsql as $$
        begin
          for i in 1..cardinality(numbers) loop
            delete from drover.execution_journal
              where partition = partitions[i] and token = tokens[i] and number = numbers[i];
          end loop;
        end $$;

        -- Replaces rows by others that hold what is left of them. May be said again when no answer came.
        create function drover.rewrite_execution_journal(
          home_partitions integer[], home_tokens bigint[],
          gone_partitions integer[], gone_tokens bigint[], gone_numbers bigint[],
          partitions integer[], tokens bigint[], numbers bigint[], new_entries text[]
        ) returns integer[] language plpgsql as $$
        declare lost integer[] := drover.lost_execution_homes(home_partitions, home_tokens);
        begin
          if cardinality(lost) = 0 then
            insert into drover.execution_journal (partition, token, number, entries)
              select * from unnest(partitions, tokens, numbers, new_entries) on conflict do nothing;
            perform drover.trim_execution_journal(gone_partitions, gone_tokens, gone_numbers);
          end if;
          return lost;
        end $$;

        -- Of a write whose answer never came: takes its name, so that it is empty, or fails if it still comes.
        create function drover.void_execution_journal(
          home_partitions integer[], home_tokens bigint[], partitions integer[], tokens bigint[], numbers bigint[]
        ) returns integer[] language plpgsql as $$
        declare lost integer[] := drover.lost_execution_homes(home_partitions, home_tokens);
        begin
          insert into drover.execution_journal as journal (partition, token, number, entries)
            select void.partition, void.token, void.number, ''
            from unnest(partitions, tokens, numbers) as void (partition, token, number)
            where void.partition <> all (lost)
            on conflict (partition, token, number) do update set entries = '';
          return lost;
        end $$;

        create function drover.archive_executions(
          home_partitions integer[], home_tokens bigint[],
          gone_partitions integer[], gone_tokens bigint[], gone_numbers bigint[], more_bytes bigint, again boolean,
          tenants text[], ids uuid[], partitions integer[], functions text[], generations bigint[], statuses text[],
          accepted timestamptz[], finished timestamptz[], expiring timestamptz[], keys text[], traces text[],
          dead_letters boolean[], inputs text[], outputs text[], rests text[]
        ) returns integer[] language plpgsql as $$
        declare
          lost integer[] := drover.lost_execution_homes(home_partitions, home_tokens);
          added bigint := more_bytes;
        begin
          if cardinality(lost) > 0 then return lost; end if;
          if again then
            with written as (
              insert into drover.executions (tenant_id, execution_id, partition, function_name, generation, status,
                accepted_at, finished_at, expires_at, idempotency_key, trace_id, dead_letter, input, output, rest)
              select tenants[i], ids[i], partitions[i], functions[i], generations[i], statuses[i], accepted[i], finished[i],
                expiring[i], keys[i], traces[i], dead_letters[i], inputs[i], outputs[i], rests[i]
              from generate_series(1, cardinality(ids)) i
              on conflict do nothing
              returning octet_length(input) + coalesce(octet_length(output), 0) as bytes
            ) select coalesce(sum(bytes), 0) into added from written;
          else
            insert into drover.executions (tenant_id, execution_id, partition, function_name, generation, status,
              accepted_at, finished_at, expires_at, idempotency_key, trace_id, dead_letter, input, output, rest)
            select tenants[i], ids[i], partitions[i], functions[i], generations[i], statuses[i], accepted[i], finished[i],
              expiring[i], keys[i], traces[i], dead_letters[i], inputs[i], outputs[i], rests[i]
            from generate_series(1, cardinality(ids)) i;
          end if;
          perform drover.trim_execution_journal(gone_partitions, gone_tokens, gone_numbers);
          perform drover.add_execution_bytes(home_partitions[1], added);
          return lost;
        end $$;

        -- Removes executions whose time is over. An execution has to stay as long as the journal still holds its entry,
        -- or it would run again after a crash: the home knows, and says up to which end each partition is clear.
        create function drover.remove_expired_executions(
          home_partitions integer[], home_tokens bigint[], clear_before timestamptz[], at timestamptz, most integer
        ) returns integer language plpgsql as $$
        declare
          removed integer;
          freed bigint;
        begin
          if cardinality(drover.lost_execution_homes(home_partitions, home_tokens)) > 0 then return 0; end if;
          with removed_rows as (
            delete from drover.executions where ctid = any (array(
              select execution.ctid from drover.executions execution
              join unnest(home_partitions, clear_before) as clear (partition, before) on clear.partition = execution.partition
              where execution.expires_at <= at and execution.finished_at < clear.before
              order by execution.expires_at limit most
            ))
            returning coalesce(octet_length(input), 0) + coalesce(octet_length(output), 0) as bytes
          ) select count(*), coalesce(sum(bytes), 0) into removed, freed from removed_rows;
          if removed > 0 then perform drover.add_execution_bytes(home_partitions[1], -freed); end if;
          return removed;
        end $$;

        -- Drops the oldest payloads until the bound is kept; one replica at a time, or each would drop as much. Tells how
        -- many were dropped and up to which expiry: the next call begins there. Dead letters expire last, so they go last.
        create function drover.evict_execution_payloads(
          own_partition integer, max_bytes bigint, after timestamptz, most integer,
          out evicted_rows integer, out evicted_to timestamptz, out total bigint
        ) language plpgsql as $$
        declare
          freed bigint;
          places tid[];
        begin
          evicted_rows := 0;
          if not pg_try_advisory_xact_lock(1685221750, -1) then return; end if;
          select coalesce(sum(bytes), 0) into total from drover.execution_bytes;
          if total <= max_bytes then return; end if;
          with oldest as materialized (
            select ctid as place, expires_at, coalesce(octet_length(input), 0) + coalesce(octet_length(output), 0) as bytes
            from drover.executions where expires_at >= after and not evicted order by expires_at limit most
            for update skip locked
          ), running as (
            select place, expires_at, bytes, sum(bytes) over (order by expires_at, place) - bytes as freed_before from oldest
          ) select count(*), max(expires_at), coalesce(sum(bytes), 0), array_agg(place)
            into evicted_rows, evicted_to, freed, places from running where freed_before < total - max_bytes;
          update drover.executions set input = null, output = null, evicted = true where ctid = any (places);
          if evicted_rows > 0 then perform drover.add_execution_bytes(own_partition, -freed); end if;
          total := total - freed;
        end $$;

        -- For a sum that does not fit what there is.
        create function drover.recount_execution_bytes(own_partition integer) returns void language plpgsql as $$
        begin
          if not pg_try_advisory_xact_lock(1685221750, -1) then return; end if;
          lock table drover.execution_bytes in exclusive mode;
          delete from drover.execution_bytes;
          insert into drover.execution_bytes
            select own_partition, coalesce(sum(coalesce(octet_length(input), 0) + coalesce(octet_length(output), 0)), 0)
            from drover.executions where not evicted;
        end $$`,
    },
    {
      name: 'index of executions by trace id',
      // In the order of a search, so that a page of it is read and no more. Most executions have none, and are not in it.
      sql: `
        create index executions_with_trace on drover.executions (tenant_id, trace_id, execution_id)
          where trace_id is not null`,
    },
    {
      name: 'results to be delivered',
      sql: `
        -- A mark for every execution that has ended and whose result a URL is still to get. Not a column of the archive: taking
        -- a mark away would write a whole row of it again, with all its indexes, and looking for marks is a look at an empty
        -- table where there are none. In the order of acceptance, so that whoever waits longest comes first.
        create table drover.execution_callbacks (
          execution_id uuid not null,
          tenant_id text collate "C" not null,
          partition integer not null,
          due_until timestamptz not null,
          primary key (execution_id, tenant_id)
        );

        -- For batches with such executions only; the others cost what they did before. What was written before, and comes
        -- again because no answer came, has its mark, or has lost it since and is told of once more.
        create function drover.archive_executions_with_callbacks(
          home_partitions integer[], home_tokens bigint[],
          gone_partitions integer[], gone_tokens bigint[], gone_numbers bigint[], more_bytes bigint, again boolean,
          tenants text[], ids uuid[], partitions integer[], functions text[], generations bigint[], statuses text[],
          accepted timestamptz[], finished timestamptz[], expiring timestamptz[], keys text[], traces text[],
          dead_letters boolean[], inputs text[], outputs text[], rests text[],
          callback_ids uuid[], callback_tenants text[], callback_partitions integer[], callbacks_until timestamptz[]
        ) returns integer[] language plpgsql as $$
        declare
          lost integer[] := drover.archive_executions(home_partitions, home_tokens, gone_partitions, gone_tokens, gone_numbers,
            more_bytes, again, tenants, ids, partitions, functions, generations, statuses, accepted, finished, expiring, keys,
            traces, dead_letters, inputs, outputs, rests);
        begin
          if cardinality(lost) = 0 then
            insert into drover.execution_callbacks (execution_id, tenant_id, partition, due_until)
              select * from unnest(callback_ids, callback_tenants, callback_partitions, callbacks_until)
              on conflict do nothing;
          end if;
          return lost;
        end $$;

        create function drover.remove_execution_callbacks(ids uuid[], tenants text[]) returns void language plpgsql as $$
        begin
          for i in 1..cardinality(ids) loop
            delete from drover.execution_callbacks where execution_id = ids[i] and tenant_id = tenants[i];
          end loop;
        end $$;

        -- As before, but an execution stays as long as it has a mark: whoever takes the mark away lets it go.
        create or replace function drover.remove_expired_executions(
          home_partitions integer[], home_tokens bigint[], clear_before timestamptz[], at timestamptz, most integer
        ) returns integer language plpgsql as $$
        declare
          removed integer;
          freed bigint;
        begin
          if cardinality(drover.lost_execution_homes(home_partitions, home_tokens)) > 0 then return 0; end if;
          with removed_rows as (
            delete from drover.executions where ctid = any (array(
              select execution.ctid from drover.executions execution
              join unnest(home_partitions, clear_before) as clear (partition, before) on clear.partition = execution.partition
              where execution.expires_at <= at and execution.finished_at < clear.before and not exists (
                select from drover.execution_callbacks mark
                where mark.execution_id = execution.execution_id and mark.tenant_id = execution.tenant_id
              )
              order by execution.expires_at limit most
            ))
            returning coalesce(octet_length(input), 0) + coalesce(octet_length(output), 0) as bytes
          ) select count(*), coalesce(sum(bytes), 0) into removed, freed from removed_rows;
          if removed > 0 then perform drover.add_execution_bytes(home_partitions[1], -freed); end if;
          return removed;
        end $$`,
    },
    {
      name: 'index of executions by function and status',
      // In the order of a search, like the index of traces. Ids grow with time, so entries are appended to few places of it.
      sql: `
        create index executions_of_function on drover.executions (tenant_id, function_name, status, execution_id)`,
    },
  ],
};
