import { parseDuration } from '../../entities/duration.js';
import { BrokerError } from '../broker/broker-error.js';

/** What Azure writes for "unlimited": the longest .NET TimeSpan. */
const unlimited = 'P10675199DT2H48M5.4775807S';
const unlimitedMs = 10_675_199 * 86_400_000;

/** Reads a duration of the REST API. Undefined = unlimited. Throws `invalid-argument`. */
export function parseAtomDuration(text: string): number | undefined {
  const durationMs = parseDuration(text.trim());
  if (durationMs === undefined) {
    throw new BrokerError('invalid-argument', `"${text}" is not a duration. Write it like PT30S, PT5M or P14D.`);
  }
  return durationMs >= unlimitedMs ? undefined : durationMs;
}

export function formatAtomDuration(durationMs: number | undefined): string {
  if (durationMs === undefined) return unlimited;
  const seconds = durationMs / 1000;
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor((seconds % 86_400) / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  const rest = Math.round((seconds % 60) * 1000) / 1000;
  const time = [hours > 0 ? `${hours}H` : '', minutes > 0 ? `${minutes}M` : '', rest > 0 ? `${rest}S` : ''].join('');
  const date = days > 0 ? `${days}D` : '';
  if (date === '' && time === '') return 'PT0S';
  return `P${date}${time === '' ? '' : `T${time}`}`;
}
