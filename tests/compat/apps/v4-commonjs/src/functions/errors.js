const { app } = require('@azure/functions');

class OrderError extends Error {
  name = 'OrderError';
}

const thrown = {
  error: () => new Error('plain', { cause: new Error('deeper') }),
  own: () => new OrderError('of our own'),
  string: () => 'a text',
  object: () => ({ code: 5 }),
};

app.storageQueue('fail', {
  queueName: 'in',
  connection: 'Storage',
  handler: async (kind) => {
    throw thrown[kind]();
  },
});

app.storageQueue('logs', {
  queueName: 'in',
  connection: 'Storage',
  handler: (_, context) => {
    context.trace('trace');
    context.debug('debug %d', 5);
    context.log('log', { a: 1 });
    context.info('info');
    context.warn('warn');
    context.error('error');
  },
});

app.storageQueue('crash', {
  queueName: 'in',
  connection: 'Storage',
  handler: (kind) =>
    new Promise(() => {
      if (kind === 'rejection') void Promise.reject(new Error('nobody caught it'));
      else
        setTimeout(() => {
          throw new Error('nobody caught it');
        }, 1);
    }),
});
