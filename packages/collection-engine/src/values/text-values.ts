import { mistyped, shown, ValueProblem, type ReadValue } from './value-problem.js';

/** PostgreSQL stores no NUL and no half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return !/[\0\p{Surrogate}]/u.test(text);
}

export const readText: ReadValue = (value) => {
  if (typeof value !== 'string') return mistyped('a text', value);
  if (isStorable(value)) return value;
  return new ValueProblem('type', `must be Unicode text without the character NUL, not ${shown(value)}`);
};

/** Reads a text of at most `max` characters that passes `isValid`. */
function formatted(expected: string, max: number, isValid: (text: string) => boolean): ReadValue {
  return (value) => {
    const text = readText(value);
    if (typeof text !== 'string') return text;
    if (text.length > max) return new ValueProblem('maxLength', `must have at most ${max} characters`);
    return isValid(text) ? text : mistyped(expected, value);
  };
}

export const readPhone = formatted('a phone number such as "+49 30 1234567"', 40, isPhone);

function isPhone(text: string): boolean {
  return /^\+?[0-9][0-9 ()./-]*$|^\([0-9][0-9 ()./-]*$/.test(text) && text.replaceAll(/[^0-9]/g, '').length >= 3;
}

export const readEmail = formatted('an e-mail address such as "ada@example.com"', 320, isEmail);

/** One @ between a local part and a host name with a dot; quoted local parts and comments are not accepted. */
function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, at);
  const labels = text.slice(at + 1).split('.');
  const isLocal = /^[^\s@"(),:;<>[\\\]]{1,64}$/u.test(local) && !/^\.|\.\.|\.$/.test(local);
  return at > 0 && isLocal && labels.length > 1 && labels.every((label) => isHostLabel.test(label));
}

const isHostLabel = /^(?!-)[\p{L}\p{M}\p{N}-]{1,63}(?<!-)$/u;

export const readUrl = formatted('a URL such as "https://example.com/path"', 2_048, isUrl);

/** Only URLs with a host: `javascript:` and `data:` would run in the page of a client that shows them as links. */
function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^\s]+$/iu.test(text) && URL.canParse(text) && new URL(text).host !== '';
}

export const readExternalId = formatted('a text that is not empty', 255, (text) => text.trim() !== '');

const currencyCodes: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

export const isCurrencyCode = (code: string): boolean => currencyCodes.has(code);

export const readCurrencyCode = formatted('an ISO 4217 code of a currency such as "EUR"', 3, isCurrencyCode);

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const readReference: ReadValue = (value) =>
  typeof value === 'string' && uuidPattern.test(value)
    ? value.toLowerCase()
    : mistyped('the id of a record, a UUID', value);
