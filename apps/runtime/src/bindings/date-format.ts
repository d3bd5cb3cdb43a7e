const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** Default format of binding expressions. It has no colons, so that the result can be part of names. */
const defaultDateFormat = 'yyyy-MM-ddTHH-mm-ssK';

/** Standard formats of one letter. */
const shorthands: Readonly<Record<string, string>> = {
  d: 'MM/dd/yyyy',
  D: 'dddd, dd MMMM yyyy',
  f: 'dddd, dd MMMM yyyy HH:mm',
  F: 'dddd, dd MMMM yyyy HH:mm:ss',
  g: 'MM/dd/yyyy HH:mm',
  G: 'MM/dd/yyyy HH:mm:ss',
  M: 'MMMM dd',
  m: 'MMMM dd',
  o: "yyyy-MM-dd'T'HH:mm:ss.fffffffK",
  O: "yyyy-MM-dd'T'HH:mm:ss.fffffffK",
  r: "ddd, dd MMM yyyy HH:mm:ss 'GMT'",
  R: "ddd, dd MMM yyyy HH:mm:ss 'GMT'",
  s: "yyyy-MM-dd'T'HH:mm:ss",
  t: 'HH:mm',
  T: 'HH:mm:ss',
  u: "yyyy-MM-dd HH:mm:ss'Z'",
  Y: 'yyyy MMMM',
  y: 'yyyy MMMM',
};

// A quoted part, an escaped character, or a run of one format letter.
const token = /'[^']*'|"[^"]*"|\\.|%?(?:y+|M+|d+|H+|h+|m+|s+|f+|F+|t+|z+|K)/g;

/** Formats a UTC time by a .NET date format, which is what bindings use. */
export function formatDate(at: number, format: string = defaultDateFormat): string {
  const date = new Date(at);
  const whole = Object.hasOwn(shorthands, format) ? (shorthands[format] ?? format) : format;
  return whole.replaceAll(token, (found) => {
    if (found.startsWith("'") || found.startsWith('"')) return found.slice(1, -1);
    return found.startsWith('\\') ? found.slice(1) : part(date, found.replace('%', ''));
  });
}

function part(date: Date, name: string): string {
  const pad = (value: number): string => String(value).padStart(Math.min(name.length, 2), '0');
  switch (name[0]) {
    case 'y':
      return name.length <= 2
        ? pad(date.getUTCFullYear() % 100)
        : String(date.getUTCFullYear()).padStart(name.length, '0');
    case 'M':
      return named(months, date.getUTCMonth(), name.length) ?? pad(date.getUTCMonth() + 1);
    case 'd':
      return named(days, date.getUTCDay(), name.length) ?? pad(date.getUTCDate());
    case 'H':
      return pad(date.getUTCHours());
    case 'h':
      return pad(date.getUTCHours() % 12 || 12);
    case 'm':
      return pad(date.getUTCMinutes());
    case 's':
      return pad(date.getUTCSeconds());
    case 'f':
      return fractionOf(date, name.length);
    case 'F':
      return fractionOf(date, name.length).replace(/0+$/, '');
    case 't':
      return (date.getUTCHours() < 12 ? 'AM' : 'PM').slice(0, name.length);
    case 'z':
      return ['+0', '+00', '+00:00'][Math.min(name.length, 3) - 1] ?? '';
    default:
      return 'Z'; // K; the time is in UTC
  }
}

function named(names: readonly string[], index: number, length: number): string | undefined {
  if (length < 3) return undefined;
  return length === 3 ? names[index]?.slice(0, 3) : names[index];
}

function fractionOf(date: Date, digits: number): string {
  return String(date.getUTCMilliseconds()).padStart(3, '0').padEnd(7, '0').slice(0, digits);
}
