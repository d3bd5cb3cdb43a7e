const pattern = /^(?:(\d{1,8})\.)?(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,7}))?)?$/;
const dayMs = 86_400_000;

/**
 * Milliseconds of a `hh:mm:ss`, with days in front (`1.12:00:00`) and fractions behind if need be. A whole number alone is
 * days, as in the original. Undefined for anything else: 24 hours and more are written with days, since the original reads
 * `24:00:00` as 24 days and nobody means that.
 */
export function parseTimeSpan(text: string): number | undefined {
  const trimmed = text.trim();
  if (/^\d{1,8}$/.test(trimmed)) return Number(trimmed) * dayMs;
  const [matched, days = '0', hours = '0', minutes = '0', seconds = '0', fraction = ''] = pattern.exec(trimmed) ?? [];
  if (matched === undefined || Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  const wholeMs = Number(days) * dayMs + ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
  return wholeMs + Number(fraction.padEnd(7, '0')) / 10_000;
}

export const timeSpanRule = 'a time like "hh:mm:ss", with days as "d.hh:mm:ss"';
