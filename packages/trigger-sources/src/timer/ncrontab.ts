/** The fields of an NCRONTAB expression as the values that each allows. */
export interface NcrontabFields {
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: readonly number[];
  readonly months: readonly number[];
  /** 0 is Sunday. */
  readonly weekdays: readonly number[];
}

type Parsed<T> = { readonly value: T } | { readonly problem: string };

interface Field {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  readonly words?: readonly string[];
}

const monthNames = [
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
const dayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

const fields: { readonly [Key in keyof NcrontabFields]: Field } = {
  seconds: { name: 'second', least: 0, most: 59 },
  minutes: { name: 'minute', least: 0, most: 59 },
  hours: { name: 'hour', least: 0, most: 23 },
  days: { name: 'day of the month', least: 1, most: 31 },
  months: { name: 'month', least: 1, most: 12, words: monthNames },
  weekdays: { name: 'day of the week', least: 0, most: 6, words: dayNames },
};

/**
 * Parses an NCRONTAB expression, the dialect of Azure: six fields, or five without seconds, which are 0 then. A field has `*`, a
 * value, a range, each with a step behind a slash, and lists of them; months and weekdays also by name or its beginning. As in
 * NCRONTAB, a range that runs backwards is read forwards (`5-1` is `1-5`), and 7 is no weekday. It has no `?`, `L`, `W` and `#`.
 */
export function parseNcrontab(text: string): Parsed<NcrontabFields> {
  const given = text.split(/\s+/).filter((field) => field !== '');
  const written = given.length === 5 ? ['0', ...given] : given;
  if (written.length !== 6)
    return { problem: `has ${given.length} fields; it needs six: second minute hour day month weekday` };
  const problems: string[] = [];
  const read = (key: keyof NcrontabFields, at: number): readonly number[] => {
    const parsed = parseField(fields[key], written[at] ?? '');
    if ('value' in parsed) return parsed.value;
    problems.push(parsed.problem);
    return [];
  };
  const value: NcrontabFields = {
    seconds: read('seconds', 0),
    minutes: read('minutes', 1),
    hours: read('hours', 2),
    days: read('days', 3),
    months: read('months', 4),
    weekdays: read('weekdays', 5),
  };
  return problems.length === 0 ? { value } : { problem: `has a problem: ${problems.join('; ')}` };
}

function parseField(field: Field, text: string): Parsed<readonly number[]> {
  const allowed = new Set<number>();
  for (const item of text.split(',')) {
    const range = parseItem(field, item);
    if ('problem' in range) return range;
    const { from, to, step } = range.value;
    for (let value = from; value <= to; value += step) allowed.add(value);
  }
  return { value: [...allowed].toSorted((one, other) => one - other) };
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

const itemPattern = /^(\*|[^*/-]+)(?:-([^*/-]+))?(?:\/(\d{1,9}))?$/;

function parseItem(field: Field, item: string): Parsed<Range> {
  const { least, most, name } = field;
  const match = itemPattern.exec(item);
  const [, first = '', last, everyText] = match ?? [];
  if (!match || (first === '*' && last !== undefined))
    return { problem: `"${item}" is no ${name}: write *, a value, a range like 1-5, or a step like */5` };
  const step = everyText === undefined ? 1 : Number(everyText);
  if (step === 0) return { problem: `"${item}" has the step 0; write 1 or more` };
  if (first === '*') return { value: { from: least, to: most, step } };
  const from = parseValue(field, first);
  if ('problem' in from) return from;
  if (last === undefined) return { value: { from: from.value, to: everyText === undefined ? from.value : most, step } };
  const to = parseValue(field, last);
  if ('problem' in to) return to;
  return { value: { from: Math.min(from.value, to.value), to: Math.max(from.value, to.value), step } };
}

function parseValue({ name, least, most, words = [] }: Field, text: string): Parsed<number> {
  if (/^\d{1,9}$/.test(text)) {
    const value = Number(text);
    if (value >= least && value <= most) return { value };
    const hint = words === dayNames && value === 7 ? '; Sunday is 0' : '';
    return { problem: `${text} is no ${name}: it must be from ${least} to ${most}${hint}` };
  }
  const folded = text.toLowerCase();
  const at = words.findIndex((word) => word.toLowerCase().startsWith(folded));
  if (at >= 0) return { value: least + at };
  return {
    problem: `"${text}" is no ${name}: it must be from ${least} to ${most}${words.length > 0 ? ', or a name' : ''}`,
  };
}
