const dayMs = 86_400_000;
/** Upper bound of .NET's TimeSpan: 2^63 - 1 ticks of 100 ns. */
const maxMs = 2 ** 63 / 10_000;

/** An optional sign, days before a dot, numbers between colons, a fraction of a second after a dot. */
const pattern = /^(-?)(?:0*(\d{1,8})\.)?(0*\d{1,8}(?::0*\d{1,8}){0,3})(?:\.(\d{1,7}))?$/;

/** Describes what `parseTimeSpan` accepts, for error messages. */
export const timeSpanRule = 'a time span like "hh:mm:ss" or "d.hh:mm:ss"';

/**
 * Parses a time span as .NET's `TimeSpan.Parse` does with the invariant culture, and returns milliseconds. The forms are `d`,
 * `hh:mm`, `hh:mm:ss`, each of the last two with days in front (`d.` or `d:`) and the last with a fraction behind. As in .NET,
 * `5` is five days, and `24:00:00` is 24 days: 24 is no hour, so it is read as `d:hh:mm`. Returns undefined for any other text,
 * and for hours above 23, minutes or seconds above 59, or more than .NET's maximum.
 */
export function parseTimeSpan(text: string): number | undefined {
  const match = pattern.exec(text.trim());
  if (!match) return undefined;
  const [, sign = '', days, clock = '', fraction] = match;
  const ms = toMs(days === undefined ? undefined : Number(days), clock.split(':').map(Number), fraction);
  if (ms === undefined || ms > maxMs) return undefined;
  return sign === '-' && ms !== 0 ? -ms : ms;
}

function toMs(days: number | undefined, numbers: readonly number[], fraction: string | undefined): number | undefined {
  const [first = 0, second = 0, third = 0, fourth = 0] = numbers;
  switch (numbers.length) {
    case 1:
      return days === undefined && fraction === undefined ? first * dayMs : undefined;
    case 2:
      return fraction === undefined ? sum(days ?? 0, first, second, 0) : undefined;
    case 3: {
      const asTime = sum(days ?? 0, first, second, third, fraction);
      if (asTime !== undefined || days !== undefined || fraction !== undefined) return asTime;
      return sum(first, second, third, 0);
    }
    default:
      return days === undefined ? sum(first, second, third, fourth, fraction) : undefined;
  }
}

/** Returns undefined if a number is out of its range. */
function sum(days: number, hours: number, minutes: number, seconds: number, fraction = ''): number | undefined {
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined;
  const wholeMs = days * dayMs + ((hours * 60 + minutes) * 60 + seconds) * 1_000;
  return wholeMs + Number(fraction.padEnd(7, '0')) / 10_000;
}

/** Formats milliseconds as `[d.]hh:mm:ss[.fff]`. */
export function formatTimeSpan(ms: number): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const seconds = Math.floor(ms / 1_000);
  const [days, hours] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3_600) % 24];
  const clock = [hours, Math.floor(seconds / 60) % 60, seconds % 60].map(two).join(':');
  const fraction = ms % 1_000 === 0 ? '' : `.${String(Math.round(ms % 1_000)).padStart(3, '0')}`;
  return `${days > 0 ? `${days}.` : ''}${clock}${fraction}`;
}
