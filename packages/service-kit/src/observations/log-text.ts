import { styleText } from 'node:util';

export interface LogTextOptions {
  readonly colors: boolean;
  /** Also shows the lines that are for operators of the platform, as at level debug. */
  readonly showsInternals: boolean;
}

/** Field of log lines about the platform itself, which a developer of an application does not look for. */
export const internalField = { audience: 'operator' } as const;

/** Characters at the end of an id that tell apart what runs at the same time; its beginning may count slots. */
const shortId = 8;

type LogRecord = Readonly<Record<string, unknown>>;

/**
 * Formats a line of the log for people: time, function and short id (or the process), message. Returns undefined for a line that
 * is not for them. A line that is not a log record, such as a crash of Node.js itself, is shown unchanged, as an error.
 */
export function toLogText(line: string, process: string, options: LogTextOptions): string | undefined {
  const record = parseRecord(line);
  if (!record) return format({ time: '', subject: process, id: '', level: 'error', message: line }, options.colors);
  const level = textOf(record, 'level');
  const isInternal = record['audience'] === internalField.audience && level === 'info';
  if (isInternal && !options.showsInternals) return undefined;
  const name = textOf(record, 'function');
  const id = textOf(record, 'invocationId') || textOf(record, 'executionId');
  return format(
    {
      time: clockTime(textOf(record, 'time')),
      subject: name || textOf(record, 'process') || process,
      id: name === '' ? '' : id.slice(-shortId),
      level,
      message: textOf(record, 'msg'),
    },
    options.colors,
  );
}

type Style = 'cyan' | 'dim' | 'red' | 'yellow';

interface LogText {
  readonly time: string;
  readonly subject: string;
  readonly id: string;
  readonly level: string;
  readonly message: string;
}

function format({ time, subject, id, level, message }: LogText, colors: boolean): string {
  // The caller knows the output; newer releases of Node.js would otherwise look at standard output.
  const paint = (style: Style, text: string): string =>
    colors ? styleText(style, text, { validateStream: false }) : text;
  const name = `${paint('cyan', subject)}${id === '' ? '' : ` ${paint('dim', id)}`}`;
  const padding = ' '.repeat(Math.max(0, 10 - subject.length - (id === '' ? 0 : id.length + 1)));
  const marked =
    level === 'error'
      ? paint('red', `error: ${message}`)
      : level === 'warn'
        ? paint('yellow', `warning: ${message}`)
        : level === 'debug'
          ? paint('dim', message)
          : message;
  return `${time === '' ? '' : `${paint('dim', time)} `}${name}${padding} ${marked}`;
}

function parseRecord(line: string): LogRecord | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const parsed: unknown = JSON.parse(line);
    const isRecord = typeof parsed === 'object' && parsed !== null && 'msg' in parsed && 'level' in parsed;
    return isRecord ? { ...parsed } : undefined;
  } catch {
    return undefined;
  }
}

function textOf(record: LogRecord, name: string): string {
  const value = record[name];
  return typeof value === 'string' ? value : '';
}

/** Local time of day, with milliseconds. */
function clockTime(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return '';
  const two = (part: number): string => String(part).padStart(2, '0');
  const seconds = `${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, '0')}`;
  return `${two(at.getHours())}:${two(at.getMinutes())}:${seconds}`;
}
