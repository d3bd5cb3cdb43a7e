/** Whatever a handler sees, as JSON can carry it. */
function describe(value) {
  if (value === undefined) return '(undefined)';
  if (Buffer.isBuffer(value)) return { buffer: value.toString('hex') };
  if (Array.isArray(value)) return value.map(describe);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, describe(inner)]));
}

/** A handler that tells what it was called with. */
function see(...args) {
  const context = args.at(-1);
  const { triggerMetadata, retryContext, traceContext, options, functionName, invocationId } = context;
  return describe({
    args: args.length,
    input: args.length > 1 ? args[0] : undefined,
    metadata: triggerMetadata,
    retry: retryContext,
    trace: traceContext,
    trigger: options.trigger.type,
    name: functionName,
    hasInvocationId: invocationId.length > 0,
  });
}

module.exports = { describe, see };
