const maxLength = 2_000;

/** What was thrown, for the caller: no stack, no control characters, of bounded length. */
export function describeFailure(thrown: unknown): string {
  return (
    textOf(thrown)
      // oxlint-disable-next-line no-control-regex -- those are meant; line ends and tabs stay
      .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f]/g, ' ')
      .slice(0, maxLength)
  );
}

/** Thrown things may be anything, also such that throw when they are looked at. */
function textOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return `the handler threw ${asText(thrown)}`;
    const { name, message }: { readonly name: unknown; readonly message: unknown } = thrown; // as they should be
    return message === '' ? String(name) : `${String(name)}: ${String(message)}`;
  } catch {
    return 'the handler threw something that cannot be read';
  }
}

function asText(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  if (typeof thrown !== 'object' || thrown === null) return String(thrown);
  // Errors of other realms look like this.
  if ('message' in thrown && typeof thrown.message === 'string') return thrown.message;
  return JSON.stringify(thrown);
}

/** Whether whoever threw it says that another try may succeed. */
export function saysTransient(thrown: unknown): boolean {
  try {
    if (typeof thrown !== 'object' || thrown === null) return false;
    return ('transient' in thrown && thrown.transient === true) || ('retryable' in thrown && thrown.retryable === true);
  } catch {
    return false;
  }
}
