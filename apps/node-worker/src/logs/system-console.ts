/** Hosts attribute lines of stdout and stderr with this prefix to the worker, all others to the app. */
const prefix = 'LanguageWorkerConsoleLog';

/** Writes lines of the worker when there is no stream to send them on. */
export interface SystemConsole {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** `write` receives whole lines for file descriptor 1 or 2. */
export function createSystemConsole(write: (descriptor: 1 | 2, text: string) => void): SystemConsole {
  const line = (message: string): string => `${message.replaceAll(/[\r\n]+/g, ' ')}\n`;
  return {
    info: (message) => write(1, `${prefix}${line(message)}`),
    warn: (message) => write(2, `${prefix}[warn] ${line(message)}`),
    error: (message) => write(2, `${prefix}[error] ${line(message)}`),
  };
}
