import { sql, type Sql } from '../sql/sql.js';

/**
 * Returns a time as answers and events show it, in the form that DATETIME fields are stored in documents: UTC with milliseconds, as
 * JavaScript writes it. PostgreSQL itself would write "+00:00", and as many digits as the time has.
 */
export const timeText = (time: Sql): Sql => sql`to_char((${time}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * The time of a write, with the milliseconds that answers show: a filter by `createdAt` or `updatedAt` finds what was read. `deleted_at`
 * keeps microseconds, because it tells which records one deletion has marked.
 */
export const writeTime = sql`date_trunc('milliseconds', now())`;
