module.exports = async function (context, req) {
  context.log('log');
  context.log.warn('warn');
  context.log.verbose('verbose');
  context.res = {
    status: 202,
    headers: { 'x-by': 'v3' },
    cookies: [{ name: 'c', value: 'v', sameSite: 'Lax' }],
    body: {
      method: req.method,
      query: req.query,
      params: req.params,
      header: req.headers['x-in'],
      body: req.body,
      raw: req.rawBody,
      get: req.get('X-In'),
      same: context.req === req,
      name: context.executionContext.functionName,
      retry: context.executionContext.retryContext,
      directory: context.executionContext.functionDirectory.endsWith('HttpRes'),
      trace: context.traceContext.traceparent,
    },
  };
};
