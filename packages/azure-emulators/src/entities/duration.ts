const iso = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/;
const clock = /^(?:(\d+)\.)?(\d{1,2}):(\d{2}):(\d{2}(?:\.\d+)?)$/;

/** Reads an ISO 8601 duration (`PT1M30S`) or a .NET time span (`00:01:30`) as milliseconds; undefined if it is neither. */
export function parseDuration(text: string): number | undefined {
  const parts = iso.exec(text) ?? clock.exec(text);
  if (!parts || parts.slice(1).every((part) => part === undefined)) return undefined;
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = parts.slice(1).map((part) => Number(part ?? 0));
  return Math.round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000);
}
