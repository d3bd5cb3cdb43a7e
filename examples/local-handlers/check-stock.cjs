// CommonJS works as well. A handler says what is worth another try, chooses its status, and heeds its signal.
const stock = { apples: 3, pears: 0 };

exports.handler = async ({ item, waitMs = 0 }, { signal, setStatus, attempt, traceId, logger }) => {
  await new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, waitMs);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason); // nobody waits for the answer any more
    });
  });
  logger.info('stock of %s, attempt %d, trace %s', item, attempt, traceId ?? 'none');
  if (item === 'plums') throw Object.assign(new Error('the warehouse does not answer'), { retryable: true });
  if (!Object.hasOwn(stock, item)) setStatus(404);
  return { item, left: stock[item] ?? null };
};
