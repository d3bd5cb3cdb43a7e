import type { FunctionSchedule, TenantId } from '@drover/contracts';
import { prepared, type Database } from '@drover/database';

/** A function with a schedule, and up to which time its runs are done. */
export interface ScheduledFunction {
  readonly tenantId: TenantId;
  readonly name: string;
  readonly generation: number;
  readonly schedule: FunctionSchedule;
  /** Epoch milliseconds. */
  readonly afterMs: number;
  /** Whether `afterMs` is stored. If not, it is the time of the function's last change. */
  readonly isStored: boolean;
}

interface ScheduleRow {
  readonly tenant_id: TenantId;
  readonly name: string;
  readonly generation: number;
  readonly schedule: FunctionSchedule;
  readonly after_at: Date | null;
  readonly updated_at: Date;
}

const listStatement = prepared(
  'function-schedules',
  `select f.tenant_id, f.name, f.generation, f.spec -> 'schedule' as schedule, f.updated_at, run.after_at
   from drover.functions f left join drover.function_schedule_runs run on run.tenant_id = f.tenant_id and run.name = f.name
     and run.generation = f.generation and run.schedule = f.spec -> 'schedule'
   where f.spec ? 'schedule'`,
);
// Never back: a former owner may be late.
const advanceStatement = prepared(
  'function-schedule-advance',
  `insert into drover.function_schedule_runs as run (tenant_id, name, generation, schedule, after_at)
   values ($1, $2, $3, $4, $5)
   on conflict (tenant_id, name) do update set generation = $3, schedule = $4,
     after_at = case when run.generation = $3 and run.schedule = $4 then greatest(run.after_at, $5) else $5 end
   where run.generation <= $3`,
);

/** Reads the schedules of all tenants, and stores which of their runs are done. */
export class ScheduleStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async list(): Promise<ScheduledFunction[]> {
    const rows = await this.#database.query<ScheduleRow>(listStatement, []);
    return rows.map((row) => ({
      tenantId: row.tenant_id,
      name: row.name,
      generation: row.generation,
      schedule: row.schedule,
      afterMs: (row.after_at ?? row.updated_at).getTime(),
      isStored: row.after_at !== null,
    }));
  }

  /** Stores that the runs up to this time are done. */
  async advance({ tenantId, name, generation, schedule }: ScheduledFunction, afterMs: number): Promise<void> {
    const values = [tenantId, name, generation, JSON.stringify(schedule), new Date(afterMs)];
    await this.#database.query(advanceStatement, values);
  }
}
