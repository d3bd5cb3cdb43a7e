const pattern = /^(?:(\d+)\.)?(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,7}))?)?$/;

/**
 * Milliseconds of a time span as host.json writes them: "hh:mm:ss", with days before a dot and fractions after one
 * ("1.00:00:00", "00:00:00.250"). Undefined for anything else: a bare number would mean days there, and nobody means that.
 */
export function parseTimeSpan(text: string): number | undefined {
  const match = pattern.exec(text.trim());
  if (!match) return undefined;
  const [days, hours, minutes, seconds] = [1, 2, 3, 4].map((group) => Number(match[group] ?? 0)) as [
    number,
    number,
    number,
    number,
  ]; // four groups, four numbers
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined;
  const fractionMs = Number(`0.${match[5] ?? '0'}`) * 1000;
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + fractionMs;
}

/** The other way round, for messages. */
export function formatTimeSpan(ms: number): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const seconds = Math.floor(ms / 1000);
  const [days, hours] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24];
  const clock = [hours, Math.floor(seconds / 60) % 60, seconds % 60].map(two).join(':');
  const fraction = ms % 1000 === 0 ? '' : `.${String(Math.round(ms % 1000)).padStart(3, '0')}`;
  return `${days > 0 ? `${days}.` : ''}${clock}${fraction}`;
}
